-- Share of each format in the calls of each program, by the policy that was in force at the program's start.
SELECT policy_name, policy_revision, executable, COALESCE(ran_at, 'unknown') AS ran_at, sum(calls) AS calls,
       round(100 * CAST(sum(calls) AS DOUBLE) / sum(sum(calls)) OVER (PARTITION BY policy_sha256, executable), 2)
         AS percent
FROM fleet
WHERE event = 'row'
GROUP BY policy_name, policy_revision, policy_sha256, executable, fleet.ran_at
ORDER BY policy_name NULLS LAST, policy_revision NULLS LAST, executable, calls DESC
