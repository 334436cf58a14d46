-- Hosts whose products take longest, compared with the same products on all hosts.
WITH products AS (
  SELECT host, sum(calls) AS calls, sum(host_ns) AS host_ns,
         sum(calls) * CAST(sum(sum(host_ns)) OVER same AS DOUBLE) / sum(sum(calls)) OVER same AS usual_ns
  FROM fleet
  WHERE event = 'row' AND function IS NOT NULL
  GROUP BY host, function, dtype, device, trans_a, trans_b, m, n, k, batch, provider, ran_at
  WINDOW same AS (PARTITION BY function, dtype, device, trans_a, trans_b, m, n, k, batch, provider, ran_at)
)
SELECT host, sum(calls) AS calls, sum(host_ns) AS host_ns, round(sum(host_ns) / sum(usual_ns), 2) AS times_as_slow
FROM products
GROUP BY host
HAVING sum(host_ns) / sum(usual_ns) > 1.2
ORDER BY times_as_slow DESC, host
LIMIT 20
