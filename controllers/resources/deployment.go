package resources

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

const (
	settingsVolume = "settings"
	databaseVolume = "database"
	kafkaVolume    = "kafka"
	reportPortName = "report"

	metricsPortName = "metrics"

	// drainSeconds is what a relay gets after its last send has ended, to record
	// what became of it.
	drainSeconds = 15
	// keptReplicaSets is how many old templates stay: as many as old settings.
	keptReplicaSets = KeptSettings - 1
	// memoryTargetPercent of the memory limit is where Go collects harder,
	// before the kernel ends the relay.
	memoryTargetPercent = 90
	goMemoryLimit       = "GOMEMLIMIT"
)

// KeptSettings is how many of a resource's settings are kept, the current one
// included.
const KeptSettings = 3

// Fleet is what the Deployment takes from elsewhere than the spec.
type Fleet struct {
	// Replicas is the decided size. It is always written: an apply without it
	// would hand the field to the API server's default of 1.
	Replicas int32
	// Image is the relays' image.
	Image string
	// Settings is the name of their ConfigMap.
	Settings string
}

// Deployment runs the relays.
func Deployment(relay *v1alpha1.OutboxRelay, fleet Fleet) *applyappsv1.DeploymentApplyConfiguration {
	return applyappsv1.Deployment(Name(relay), relay.Namespace).
		WithLabels(childLabels(relay)).
		WithOwnerReferences(ownerReference(relay)).
		WithSpec(applyappsv1.DeploymentSpec().
			WithReplicas(fleet.Replicas).
			WithRevisionHistoryLimit(keptReplicaSets).
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(Selector(relay))).
			WithStrategy(rollout()).
			WithTemplate(applycorev1.PodTemplateSpec().
				WithLabels(labels.Merge(values(relay.Spec.Pod.Labels),
					labels.Merge(childLabels(relay), labels.Set{LabelResource: string(relay.UID)}))).
				WithAnnotations(values(relay.Spec.Pod.Annotations)).
				WithSpec(pod(relay, fleet))))
}

// rollout takes no old relay away before a new one is ready: relays that cannot
// start, because of a wrong Secret say, stop the rollout and change nothing.
func rollout() *applyappsv1.DeploymentStrategyApplyConfiguration {
	return applyappsv1.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(applyappsv1.RollingUpdateDeployment().
			WithMaxUnavailable(intstr.FromInt32(0)).
			WithMaxSurge(intstr.FromString("25%")))
}

func pod(relay *v1alpha1.OutboxRelay, fleet Fleet) *applycorev1.PodSpecApplyConfiguration {
	spec := applycorev1.PodSpec().
		WithServiceAccountName(Name(relay)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(int64(relay.Spec.EffectiveLeaseDurationSeconds()) + drainSeconds).
		WithSecurityContext(applycorev1.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(applycorev1.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithContainers(container(relay, fleet)).
		WithVolumes(volumes(relay, fleet)...)
	for _, secret := range relay.Spec.Pod.ImagePullSecrets {
		spec.WithImagePullSecrets(applycorev1.LocalObjectReference().WithName(secret.Name))
	}
	schedule(spec, relay)
	return spec
}

func volumes(relay *v1alpha1.OutboxRelay, fleet Fleet) []*applycorev1.VolumeApplyConfiguration {
	all := []*applycorev1.VolumeApplyConfiguration{
		applycorev1.Volume().WithName(settingsVolume).WithConfigMap(
			applycorev1.ConfigMapVolumeSource().WithName(fleet.Settings)),
		applycorev1.Volume().WithName(databaseVolume).WithProjected(databaseFiles(relay.Spec.Database)),
	}
	if files := kafkaFiles(relay.Spec.Kafka); len(files.Sources) > 0 {
		all = append(all, applycorev1.Volume().WithName(kafkaVolume).WithProjected(files))
	}
	return all
}

func mounts(relay *v1alpha1.OutboxRelay) []*applycorev1.VolumeMountApplyConfiguration {
	mount := func(name, directory string) *applycorev1.VolumeMountApplyConfiguration {
		return applycorev1.VolumeMount().WithName(name).WithMountPath(directory).WithReadOnly(true)
	}
	all := []*applycorev1.VolumeMountApplyConfiguration{mount(settingsVolume, settingsDirectory), mount(databaseVolume, databaseDirectory)}
	if len(kafkaFiles(relay.Spec.Kafka).Sources) > 0 {
		all = append(all, mount(kafkaVolume, kafkaDirectory))
	}
	return all
}

func container(relay *v1alpha1.OutboxRelay, fleet Fleet) *applycorev1.ContainerApplyConfiguration {
	requests, limits := withDefaults(relay.Spec.Pod.Resources)
	return applycorev1.Container().
		WithName(ContainerName).
		WithImage(fleet.Image).
		WithArgs(arguments(relay)...).
		WithEnv(environment(limits, relay.Spec.Pod.Env)...).
		WithPorts(
			applycorev1.ContainerPort().
				WithName(reportPortName).WithContainerPort(ReportPort).WithProtocol(corev1.ProtocolTCP),
			applycorev1.ContainerPort().
				WithName(metricsPortName).WithContainerPort(MetricsPort).WithProtocol(corev1.ProtocolTCP)).
		WithResources(applycorev1.ResourceRequirements().WithRequests(requests).WithLimits(limits)).
		WithSecurityContext(applycorev1.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(applycorev1.Capabilities().WithDrop("ALL"))).
		WithLivenessProbe(probe("/livez").WithPeriodSeconds(10).WithFailureThreshold(3)).
		WithReadinessProbe(probe("/readyz").WithPeriodSeconds(2).WithFailureThreshold(3)).
		WithVolumeMounts(mounts(relay)...)
}

// arguments give sends as long after SIGTERM as they could take without it: to
// the end of the lease.
func arguments(relay *v1alpha1.OutboxRelay) []string {
	return []string{
		"relay",
		"--config=" + settingsDirectory + "/" + SettingsKey,
		"--grace=" + strconv.Itoa(int(relay.Spec.EffectiveLeaseDurationSeconds())) + "s",
	}
}

func environment(limits corev1.ResourceList, further []v1alpha1.EnvironmentVariable) []*applycorev1.EnvVarApplyConfiguration {
	env := []*applycorev1.EnvVarApplyConfiguration{
		fromPod("POD_NAME", "metadata.name"),
		fromPod("POD_UID", "metadata.uid"),
	}
	isOurs := func(v v1alpha1.EnvironmentVariable) bool { return v.Name == goMemoryLimit }
	if memory, limited := limits[corev1.ResourceMemory]; limited && !slices.ContainsFunc(further, isOurs) {
		target := memory.Value() / 100 * memoryTargetPercent
		env = append(env, applycorev1.EnvVar().WithName(goMemoryLimit).WithValue(strconv.FormatInt(target, 10)))
	}
	for _, v := range further {
		env = append(env, applycorev1.EnvVar().WithName(v.Name).WithValue(v.Value))
	}
	return env
}

func fromPod(name, path string) *applycorev1.EnvVarApplyConfiguration {
	return applycorev1.EnvVar().WithName(name).WithValueFrom(applycorev1.EnvVarSource().
		WithFieldRef(applycorev1.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath(path)))
}

func probe(path string) *applycorev1.ProbeApplyConfiguration {
	return applycorev1.Probe().
		WithHTTPGet(applycorev1.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(reportPortName))).
		WithTimeoutSeconds(2)
}

// databaseFiles are the credentials. Each source is optional, so that a relay
// starts without it and says what is missing; each names its keys, so that
// nothing else of a Secret is mounted; and the whole directory is one volume,
// because only that follows a change.
func databaseFiles(database v1alpha1.Database) *applycorev1.ProjectedVolumeSourceApplyConfiguration {
	return files(
		secretFile(database.URIFrom.SecretKeyRef, uriFile),
		certificates(database.TLS.CAFrom, caFile),
		clientCertificate(database.TLS.ClientCertificateFrom),
	)
}

// kafkaFiles are those of the broker, in the same way; there may be none.
func kafkaFiles(kafka v1alpha1.Kafka) *applycorev1.ProjectedVolumeSourceApplyConfiguration {
	var all []*applycorev1.VolumeProjectionApplyConfiguration
	if t := kafka.TLS; t != nil {
		all = append(all, certificates(t.CAFrom, caFile), clientCertificate(t.ClientCertificateFrom))
	}
	if a := kafka.Authentication; a != nil {
		all = append(all, value(a.UsernameFrom, usernameFile), value(a.PasswordFrom, passwordFile))
		if a.OAuth != nil {
			all = append(all, value(&a.OAuth.ClientSecretFrom, clientSecretFile), certificates(a.OAuth.CAFrom, tokenCAFile))
		}
	}
	return files(all...)
}

// files are the sources that there are.
func files(sources ...*applycorev1.VolumeProjectionApplyConfiguration) *applycorev1.ProjectedVolumeSourceApplyConfiguration {
	volume := applycorev1.ProjectedVolumeSource()
	for _, source := range sources {
		if source != nil {
			volume.WithSources(source)
		}
	}
	return volume
}

func value(source *v1alpha1.SecretSource, path string) *applycorev1.VolumeProjectionApplyConfiguration {
	if source == nil {
		return nil
	}
	return secretFile(source.SecretKeyRef, path)
}

func certificates(source *v1alpha1.CertificateSource, path string) *applycorev1.VolumeProjectionApplyConfiguration {
	switch {
	case source == nil:
		return nil
	case source.SecretKeyRef != nil:
		return secretFile(*source.SecretKeyRef, path)
	case source.ConfigMapKeyRef != nil:
		return applycorev1.VolumeProjection().WithConfigMap(applycorev1.ConfigMapProjection().
			WithName(source.ConfigMapKeyRef.Name).WithOptional(true).
			WithItems(applycorev1.KeyToPath().WithKey(source.ConfigMapKeyRef.Key).WithPath(path)))
	}
	return nil
}

func clientCertificate(source *v1alpha1.ClientCertificateSource) *applycorev1.VolumeProjectionApplyConfiguration {
	if source == nil {
		return nil
	}
	ref := source.SecretRef
	return applycorev1.VolumeProjection().WithSecret(applycorev1.SecretProjection().
		WithName(ref.Name).WithOptional(true).
		WithItems(
			applycorev1.KeyToPath().WithKey(cmp.Or(ref.CertificateKey, corev1.TLSCertKey)).WithPath(certificateFile),
			applycorev1.KeyToPath().WithKey(cmp.Or(ref.PrivateKeyKey, corev1.TLSPrivateKeyKey)).WithPath(privateKeyFile)))
}

func secretFile(ref v1alpha1.KeyReference, path string) *applycorev1.VolumeProjectionApplyConfiguration {
	return applycorev1.VolumeProjection().WithSecret(applycorev1.SecretProjection().
		WithName(ref.Name).WithOptional(true).
		WithItems(applycorev1.KeyToPath().WithKey(ref.Key).WithPath(path)))
}

// withDefaults sets a default aside only where the user names neither a request
// nor a limit that it could contradict.
func withDefaults(r v1alpha1.Resources) (requests, limits corev1.ResourceList) {
	requests, limits = maps.Clone(r.Requests), maps.Clone(r.Limits)
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	if limits == nil {
		limits = corev1.ResourceList{}
	}
	setUnless(requests, limits, corev1.ResourceCPU, "100m")
	setUnless(requests, limits, corev1.ResourceMemory, "128Mi")
	if r.Limits == nil {
		setUnless(limits, r.Requests, corev1.ResourceMemory, "512Mi")
	}
	return requests, limits
}

func setUnless(list, other corev1.ResourceList, name corev1.ResourceName, value string) {
	_, here := list[name]
	_, there := other[name]
	if !here && !there {
		list[name] = resource.MustParse(value)
	}
}
