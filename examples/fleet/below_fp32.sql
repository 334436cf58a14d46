-- Hosts that ran anything below FP32, and where in the program.
SELECT host, "where", requested, ran_at, reason, sum(calls) AS calls, sum(host_ns) AS host_ns
FROM fleet
WHERE event = 'row' AND ran_at NOT IN ('fp32', 'unchanged')
GROUP BY host, "where", requested, ran_at, reason
ORDER BY host_ns DESC, host, "where" NULLS LAST
