-- All that a relay's role needs: it reads rows and writes the columns of the claim. It can neither insert nor delete, nor
-- change what an event says.
GRANT USAGE ON SCHEMA /*schema*/public TO /*role*/relayfleet;
GRANT SELECT ON TABLE /*table*/public.outbox TO /*role*/relayfleet;
GRANT UPDATE (status, generation, claim_token, attempts, lease_until, next_attempt_at, sent_at, failed_at, last_error)
    ON TABLE /*table*/public.outbox TO /*role*/relayfleet;
