-- All that a relay's role needs: it reads rows and writes the columns of the claim. It can neither insert nor delete, nor
-- change what an event says.
GRANT USAGE ON SCHEMA /*schema*/public TO /*role*/relayfleet;
GRANT SELECT ON TABLE /*table*/public.outbox TO /*role*/relayfleet;
GRANT UPDATE (/*columns*/status)
    ON TABLE /*table*/public.outbox TO /*role*/relayfleet;
