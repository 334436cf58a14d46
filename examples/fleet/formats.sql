-- The share of each format in the calls of each program under each policy.
SELECT policy_name, policy_revision, executable, ran_at, sum(calls) AS calls,
       100 * CAST(sum(calls) AS DOUBLE) / sum(sum(calls)) OVER (PARTITION BY policy_sha256, executable) AS percent
FROM fleet
WHERE event = 'row'
GROUP BY policy_name, policy_revision, policy_sha256, executable, ran_at
ORDER BY policy_name NULLS LAST, policy_revision NULLS LAST, executable, calls DESC
