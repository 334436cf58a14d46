-- Hosts whose policy at a program's start is not that of most recordings, or whose settings changed during the run.
WITH policies AS (
  SELECT policy_sha256, count(*) AS recordings
  FROM fleet
  WHERE event = 'recording' AND NOT children_only
  GROUP BY policy_sha256
), usual AS (
  SELECT policy_sha256 FROM policies ORDER BY recordings DESC, policy_sha256 LIMIT 1
)
SELECT host, policy_name, policy_revision, count(*) AS recordings, sum(setting_changes) AS setting_changes
FROM fleet CROSS JOIN usual
WHERE event = 'recording' AND NOT children_only
  AND (fleet.policy_sha256 IS DISTINCT FROM usual.policy_sha256 OR setting_changes > 0)
GROUP BY host, policy_name, policy_revision
ORDER BY host, policy_name NULLS LAST, policy_revision NULLS LAST
