-- Hosts that ran anything below FP32, and the places in the program; 'unknown' if the recording was full.
SELECT host, "where", requested, COALESCE(ran_at, 'unknown') AS ran_at, reason, sum(calls) AS calls, sum(host_ns) AS host_ns
FROM fleet
WHERE event = 'row' AND COALESCE(ran_at, 'unknown') NOT IN ('fp32', 'unchanged')
GROUP BY host, "where", requested, fleet.ran_at, reason
ORDER BY host_ns DESC, host, "where" NULLS LAST
