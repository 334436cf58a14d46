-- Recordings that cannot be read, or not in full, or that lack something because they were full.
SELECT host, recording, problem, uncounted_calls, dropped_events, overwritten_events, lost_changes, lost_audits, ended_early
FROM fleet
WHERE event = 'recording'
  AND (problems > 0 OR uncounted_calls > 0 OR dropped_events > 0 OR overwritten_events > 0 OR lost_changes > 0
       OR lost_audits > 0 OR ended_early)
ORDER BY recording
