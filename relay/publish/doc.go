// Package publish sends claimed batches to Kafka and says what became of each
// event. It holds every call to sarama.
//
// # The life of one Publish
//
// A Producer belongs to one slot and keeps a session: a gate, which is the
// session's only dialer; a sarama client behind it; a producer id, and for every
// partition the sequence number that comes next. Publish arms the gate with the
// deadline, looks up the topics that it does not know (they are never created),
// gives each event its partition, and cuts what goes to a partition into record
// batches below the topic's limit: one per partition, unless the payloads are
// large. Then it goes in rounds. A round sends the first batch of each
// partition, in one request per leader, waits for all answers and reads them:
//
//   - appended: the events are Published, and the partition's next batch may go;
//   - refused because of a record: the broker names it, or halves of the batch
//     are tried down to a single record; the culprit is Rejected or Refused, the
//     others go on;
//   - anything else: the partition waits a moment, asks for the leader anew and
//     sends the same batch again, until RetryFor or the deadline is used up.
//
// A batch's partitions are chosen once, also when its sends are repeated after the
// topic has grown: only later batches count the new partitions.
//
// # What is known when
//
// A broker acts on complete requests only. So until the last byte of a request
// is given to the kernel its events are Unsent, and an error of the write leaves
// them so. From then on an event is Unknown until an answer is believed. Some
// answers say that nothing was appended, others can come from a broker that had
// appended before it failed (that it is not the leader any more, for one); the
// table in classify.go tells them apart. A batch of which any try may have been
// appended keeps its producer id and its sequence numbers in every further try,
// by which a broker recognises what it already has and acknowledges it without
// appending twice; so most unknown outcomes become known within milliseconds.
// Sequence numbers that may have been used are never given to other records, or
// the broker would take those for duplicates and drop them: when an outcome
// stays Unknown the session ends, and the next has a new producer id and new
// connections. Events of an Unknown outcome may then appear a second time when
// their rows are claimed again, with the same event id.
//
// At the deadline the gate is cut: connections are reset, so that not even what
// the kernel still holds goes out, and Publish returns. Calls into sarama that
// are still under way then have no connection left and end by themselves. The
// gate also asks the clock at every write, for a process that was stopped, or
// whose machine was suspended, wakes up past its deadline before its timers do.
//
// # Whose fault it is
//
// Outcomes tell about events, the error tells about the broker or the fleet's
// topic, as a Problem with a code. An event whose own topic is missing, forbidden
// or unable to take records is Refused, and says nothing about the fleet. Nothing
// that is the broker's fault is ever an outcome Refused or Rejected.
//
// A topic that is missing or forbidden is asked for once in five seconds, however
// many events name it. Other refusals of an own topic charge its events only when
// the cluster took records for another topic in the same Publish; else the cluster
// is to blame. Topics are never created: no request of ours allows it.
//
// # What it takes
//
// A round is bounded to 4 MiB for all leaders together, or one larger record, because
// encoding holds up to four times what is sent. So three slots with payloads of 32 MiB
// in flight, the default budget, use less than 80 MiB, and 96 MiB with zstd, whose
// tables stay; see TestRealKafka/memory.
//
// # Who may connect
//
// Credentials are files, shared by all producers of a relay and read at every new
// session and by Credentials.Refresh. Content that is new is tried on a connection
// of its own, through a gate of its own; only what a broker has let in is used,
// and it stays in use until something else has been let in. So a file that
// vanishes, a certificate whose key has not arrived yet or a password that the
// broker does not know yet takes nothing away. A session keeps the login that it
// began with; when another is in use it ends before its next batch. Brokers that
// limit the life of a login (KIP-368) are logged in to again by sarama, before the
// request that would come too late, with the session's login or, for OAUTHBEARER,
// the newest token. A token is asked for once for all sessions, renewed after four
// fifths of its life or when a broker refuses it, and never asked for in a loop.
//
// The gate makes TLS, not sarama: there the handshake is bounded, and it is known
// that a connection ended in it, which is all that a port without TLS tells. What
// a broker or a token endpoint says about a login never becomes part of an error,
// because it may quote what it was sent.
//
// # Why not sarama's AsyncProducer
//
// It knows no deadline. On a frozen link it held a batch for more than nine
// minutes and delivered it after it had been given up; messages that its caller
// had abandoned after half a second arrived two seconds later. It reorders a key
// when one of its sets uses up its retries, fails all messages of a batch for
// one that is too large, and does not tell which one the broker named. Client
// and Broker of the same library do all that is hard (connections, logins,
// versions, metadata) and leave the decisions to the caller.
package publish
