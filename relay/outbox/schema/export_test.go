package schema

// Impatient makes any snapshot an old one, until it is undone.
func Impatient() (undo func()) {
	transactions, seconds := oldTransactions, oldSeconds
	oldTransactions, oldSeconds = 2, 3600
	return func() { oldTransactions, oldSeconds = transactions, seconds }
}
