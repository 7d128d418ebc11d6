package postgres

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/service"
)

// defaultPort is that of a server in a network namespace, where nothing else of ours takes it.
const defaultPort = 5432

// configure writes all configuration files anew and records the state, so that a start with other options takes them.
func (s *Server) configure(options Options, bin string) (err error) {
	if options.Port == 0 {
		if options.Port, err = choosePort(options.Netns); err != nil {
			return err
		}
	}
	s.state.Options, s.state.Binaries = options, bin
	if !options.WithoutTLS {
		if err := s.writeCertificates(); err != nil {
			return fmt.Errorf("write certificates: %w", err)
		}
	}
	user := service.Unprivileged()
	if err := service.WriteOwned(filepath.Join(s.dataDir(), "postgresql.conf"), []byte(s.settings()), user); err != nil {
		return err
	}
	if err := service.WriteOwned(filepath.Join(s.dataDir(), "pg_hba.conf"), []byte(options.hba()), user); err != nil {
		return err
	}
	return s.instance.SaveState(s.state)
}

func choosePort(netns string) (int, error) {
	if netns != "" {
		return defaultPort, nil
	}
	return service.FreePorts(1)
}

func (s *Server) settings() string {
	o := s.state.Options
	settings := map[string]string{
		"listen_addresses":    strings.Join(o.ListenAddresses, ","),
		"port":                strconv.Itoa(o.Port),
		"cluster_name":        "relayfleet-" + s.instance.Name,
		"password_encryption": "scram-sha-256",
		"max_connections":     "200",
		"timezone":            "UTC",
		"log_timezone":        "UTC",
		"log_line_prefix":     "%m [%p] %q%u@%d %a ",
		// A socket's path has a limit that a cache folder may pass, and nobody uses it.
		"unix_socket_directories": "",
		// In the data folder: memory in /dev/shm would stay behind when the server is killed.
		"dynamic_shared_memory_type": "mmap",
	}
	if !o.WithoutTLS {
		settings["ssl"] = "on"
		settings["ssl_cert_file"] = s.instance.Path("tls", "server.crt")
		settings["ssl_key_file"] = s.instance.Path("tls", "server.key")
		settings["ssl_ca_file"] = s.instance.Path("tls", "ca.crt")
	}
	if o.NotDurable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	maps.Copy(settings, o.Settings)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	return text.String()
}

func (o Options) hba() string {
	lines := slices.Clone(o.HBA)
	connection := "hostssl"
	if o.WithoutTLS {
		connection = "host"
	}
	for _, network := range service.Networks {
		lines = append(lines, connection+" all all "+network+" scram-sha-256", connection+" replication all "+network+" scram-sha-256")
	}
	return strings.Join(lines, "\n") + "\n"
}

// writeCertificates makes the server's certificate, once unless the caller brings an authority.
func (s *Server) writeCertificates() (err error) {
	ca := s.state.Options.Authority
	if _, err := os.Stat(s.CAFile()); err == nil && ca == nil {
		return nil
	}
	if err := os.MkdirAll(s.instance.Path("tls"), 0o755); err != nil {
		return err
	}
	if ca == nil {
		if ca, err = authority.New("relayfleet database " + s.instance.Name); err != nil {
			return err
		}
		if err := ca.Save(s.CAFile(), s.instance.Path("tls", "ca.key")); err != nil {
			return err
		}
	}
	return s.WriteCertificate(ca)
}

// WriteCertificate gives the server a new certificate from ca and makes ca the one that CAFile names. It counts from the
// server's next start or reload.
func (s *Server) WriteCertificate(ca *authority.Authority) error {
	hosts := []string{"localhost", service.Loopback, service.PodAddress, service.NodeAddress}
	hosts = append(append(hosts, s.state.Options.ListenAddresses...), s.state.Options.Hosts...)
	slices.Sort(hosts)
	pair, err := ca.Issue(authority.Request{CommonName: "relayfleet-database-" + s.instance.Name, Hosts: slices.Compact(hosts)})
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.CAFile(), ca.PEM(), 0o644); err != nil {
		return err
	}
	user := service.Unprivileged()
	if err := service.WriteOwned(s.instance.Path("tls", "server.crt"), pair.Certificate, user); err != nil {
		return err
	}
	return service.WriteOwned(s.instance.Path("tls", "server.key"), pair.Key, user)
}
