// Package addons holds what connects Relayfleet to other tools; its tests run the
// files in those tools' own interpreters.
package addons
