// Package service is what the database and the broker for development and tests have in common: where they live on disk,
// how a background process is started, recognised later and ended, how a network namespace is entered, and how a long
// step is shown. It knows nothing of PostgreSQL or Kafka.
//
// A service outlives the command that started it. Its folder, run/<kind>/<name> in the cache, holds all that it has: data,
// log, certificates and the record by which a later command finds its processes again. A process is recorded with the
// time at which it started, so a process id that the kernel gave to somebody else is never signalled.
package service
