// Package controllers is the control plane: it turns an OutboxRelay into a
// Deployment of relays, follows what they report, and says in status how they
// are doing and why there are as many as there are.
//
// One pass reads from the outside in: outboxrelay_controller.go is the list of
// its phases; resources builds the children, apply.go writes them; backlog holds
// what the relays said, scaling decides; outboxrelay_status.go has a function
// per condition, findings.go the sentences, quiet.go says what is worth a write.
//
// It holds no credentials: it reads no Secret and connects to no database and
// no broker. It never writes a spec.
package controllers
