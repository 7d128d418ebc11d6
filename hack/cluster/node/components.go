package node

import (
	"path/filepath"
)

// component is one program of the node with its command line.
type component struct {
	name    string
	program string
	args    []string
}

// Binaries are the folders that a node's programs are in.
type Binaries struct{ APIServer, Node, Containerd string }

func (b Binaries) folders() []string { return []string{b.APIServer, b.Node, b.Containerd} }

// etcd may lose its data with the machine's power: the cluster is thrown away
// anyway, and fsync is most of what a start waits for.
func (n *Node) etcd() component {
	return component{"etcd", filepath.Join(n.Binaries.APIServer, "etcd"), []string{
		"--name=" + NodeName,
		"--data-dir=" + n.Paths.etcd(),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=" + NodeName + "=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}}
}

func (n *Node) apiServer() component {
	return component{"kube-apiserver", filepath.Join(n.Binaries.APIServer, "kube-apiserver"), []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0",
		"--secure-port=443",
		"--advertise-address=" + Address,
		"--service-cluster-ip-range=" + serviceSubnet,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + n.Paths.pki("ca.crt"),
		"--tls-cert-file=" + n.Paths.pki("apiserver.crt"),
		"--tls-private-key-file=" + n.Paths.pki("apiserver.key"),
		"--kubelet-certificate-authority=" + n.Paths.pki("ca.crt"),
		"--kubelet-client-certificate=" + n.Paths.pki("kubelet-client.crt"),
		"--kubelet-client-key=" + n.Paths.pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + n.Paths.pki("service-account.key"),
		"--service-account-signing-key-file=" + n.Paths.pki("service-account.key"),
		// Aggregated APIs by address: there is no kube-proxy.
		"--enable-aggregator-routing=true",
		"--requestheader-client-ca-file=" + n.Paths.pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + n.Paths.pki("front-proxy-client.crt"),
		"--proxy-client-key-file=" + n.Paths.pki("front-proxy-client.key"),
	}}
}

func (n *Node) controllerManager() component {
	return component{"kube-controller-manager", filepath.Join(n.Binaries.Node, "kube-controller-manager"), []string{
		"--kubeconfig=" + n.Paths.config("controller-manager.kubeconfig"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--root-ca-file=" + n.Paths.pki("ca.crt"),
		"--service-account-private-key-file=" + n.Paths.pki("service-account.key"),
	}}
}

func (n *Node) scheduler() component {
	return component{"kube-scheduler", filepath.Join(n.Binaries.Node, "kube-scheduler"), []string{
		"--kubeconfig=" + n.Paths.config("scheduler.kubeconfig"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
	}}
}

func (n *Node) containerd() component {
	return component{"containerd", filepath.Join(n.Binaries.Containerd, "containerd"), []string{
		"--config=" + n.Paths.config("containerd.toml"),
	}}
}

func (n *Node) kubelet() component {
	return component{"kubelet", filepath.Join(n.Binaries.Node, "kubelet"), []string{
		"--config=" + n.Paths.config("kubelet.yaml"),
		"--kubeconfig=" + n.Paths.config("kubelet.kubeconfig"),
		"--root-dir=" + n.Paths.kubelet(),
		"--hostname-override=" + NodeName,
		// Its default costs ten seconds: a look-up of the name at resolvers that the
		// namespace cannot reach.
		"--node-ip=" + Address,
	}}
}
