package node

// Everything of the node lives in one network namespace, so that nothing of it
// touches the host's network. Host and node are the two ends of a link.
const (
	// Namespace is the name of the network namespace.
	Namespace = "relayfleet"
	// HostAddress is the host's end of the link.
	HostAddress = "10.250.0.1"
	// Address is the node's end: the host reaches the API server, and whatever
	// else runs in the namespace, here.
	Address = "10.250.0.2"
	// BridgeAddress is where pods reach whatever runs in the namespace.
	BridgeAddress = "10.244.0.1"
	// PodSubnet is where pods get their addresses from.
	PodSubnet = "10.244.0.0/24"
	// serviceAddress is kubernetes.default.svc: an address of the loopback
	// device in the namespace stands in for kube-proxy.
	serviceAddress = "10.96.0.1"
	serviceSubnet  = "10.96.0.0/16"

	linkPrefix = "/30"
	hostLink   = "relayfleet-host"
	nodeLink   = "relayfleet-node"
	bridge     = "relayfleet0"

	// NodeName is the node's name in Kubernetes.
	NodeName = "relayfleet"
	// Server is the API server's URL.
	Server = "https://" + Address + ":443"
	// PauseImage is the image of every pod's sandbox.
	PauseImage = "localhost/relayfleet-pause:1"
)
