// Command bench measures one relay beside what bounds it and, if wanted, beside
// its peers, all in one run on one machine. It reports and judges no speed; that
// nothing is lost on the way is asserted.
//
//	make bench                 throughput, processor time, memory and latency
//	BENCH=history make bench   the claim over 10 thousand, 1 and 5 million SENT rows
//	BENCH=xmin make bench      the claim while a transaction is held open for 120 s
//	BENCH=retention make bench claims while a relay deletes a million published rows
//	BENCH=order make bench     what order by key costs: uniform, hot and blocked keys
//
// The environment changes it:
//
//	BENCH_PEERS=1         measure Debezium and watermill too; installs them
//	BENCH_RUNS=3          measure each thing that often, and report medians; unset: 1
//	BENCH_EVENTS=500000   events that are drained; unset: 200000
//	BENCH_RATE=2000       events per second while latency is measured; unset: 1000, 3000 for xmin
//	BENCH_SECONDS=30      how long latency is measured; unset: 60, 120 for xmin
//	BENCH_ONLY=relay      measure only what has this in its name
//	BENCH_JSON=FILE       write the table as JSON too
//
// It can drain a table of yours, and then starts no database and no broker,
// inserts nothing, and publishes what is there for real:
//
//	BENCH_URI_FILE=FILE     a file with the database's connection URI
//	BENCH_TABLE=public.outbox
//	BENCH_SERVERS=kafka:9092
//	BENCH_TOPIC=orders.events
//	BENCH_SETTINGS=FILE     a relay's settings (mapping, TLS, login) that the four above complete
//
// Database, broker, relay and this program share the machine, so a figure is
// worth something only beside another of the same run.
package main
