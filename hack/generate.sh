#!/bin/sh
# Regenerates everything that is generated: deep copies, apply configurations,
# the CRD and the roles. Run from anywhere; the controller-gen of
# hack/tools/go.mod is used, or the binary that CONTROLLER_GEN names.
set -eu
cd "$(dirname "$0")/.."
: "${CONTROLLER_GEN:=go tool -modfile=hack/tools/go.mod controller-gen}"

# shellcheck disable=SC2086 # CONTROLLER_GEN may be several words.
{
	$CONTROLLER_GEN object paths=./api/...
	$CONTROLLER_GEN applyconfiguration paths=./api/...
	$CONTROLLER_GEN crd:omitToolVersion=true,maxDescLen=600 paths=./api/... output:crd:dir=config/install/crd
	$CONTROLLER_GEN rbac:roleName=relayfleet-manager,fileName=zz_generated.roles.yaml \
		paths=./controllers/... output:rbac:dir=config/install/rbac
}
