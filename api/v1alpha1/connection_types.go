package v1alpha1

// Pooling says what stands between the relays and the server.
//
// +kubebuilder:validation:Enum=Session;Transaction
type Pooling string

const (
	// PoolingSession: a connection keeps its server session.
	PoolingSession Pooling = "Session"
	// PoolingTransaction: a pooler gives each transaction any session.
	PoolingTransaction Pooling = "Transaction"
)

// ClientCertificateSource is a certificate with its key in a Secret of the same
// namespace.
type ClientCertificateSource struct {
	// secretRef names the Secret and its keys.
	// +required
	SecretRef ClientCertificateReference `json:"secretRef,omitzero"`
}

// ClientCertificateReference names a Secret with a certificate and its key.
type ClientCertificateReference struct {
	// name is the Secret's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of a Secret in this namespace: lower case letters, digits, '-' and '.'"
	// +required
	Name string `json:"name,omitempty"`

	// certificateKey is the key of the PEM certificate. Unset: tls.crt.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && !self.startsWith('..') && self != '.'",message="write a key of the Secret's data: letters, digits, '-', '_' and '.', not starting with two dots"
	// +optional
	CertificateKey string `json:"certificateKey,omitempty"`

	// privateKeyKey is the key of the PEM private key. Unset: tls.key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && !self.startsWith('..') && self != '.'",message="write a key of the Secret's data: letters, digits, '-', '_' and '.', not starting with two dots"
	// +optional
	PrivateKeyKey string `json:"privateKeyKey,omitempty"`
}

// KafkaTLS says what the brokers must prove.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caFrom) || !has(self.mode) || self.mode in ['VerifyFull', 'VerifyCA']",message="caFrom is not used with mode Require: write mode VerifyFull or VerifyCA, or leave caFrom out"
type KafkaTLS struct {
	// mode is VerifyFull (certificate and host name), VerifyCA (certificate
	// only) or Require (encrypted, nothing checked). Unset: VerifyFull. A change
	// rolls the relays.
	// +kubebuilder:validation:Enum=VerifyFull;VerifyCA;Require
	// +optional
	Mode string `json:"mode,omitempty"`

	// caFrom is where the PEM certificates to trust are. Unset: those of the image.
	// +optional
	CAFrom *CertificateSource `json:"caFrom,omitempty"`

	// clientCertificateFrom is what the relays show the brokers. Unset: nothing.
	// +optional
	ClientCertificateFrom *ClientCertificateSource `json:"clientCertificateFrom,omitempty"`
}

// KafkaAuthentication says how the relays log in.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'OAUTHBEARER') == has(self.oauth)",message="write oauth with type OAUTHBEARER, and only with it"
// +kubebuilder:validation:XValidation:rule="self.type == 'OAUTHBEARER' || has(self.username) != has(self.usernameFrom)",message="write exactly one of username and usernameFrom"
// +kubebuilder:validation:XValidation:rule="self.type == 'OAUTHBEARER' || has(self.passwordFrom)",message="write passwordFrom: where the relays find the password"
// +kubebuilder:validation:XValidation:rule="self.type != 'OAUTHBEARER' || !(has(self.username) || has(self.usernameFrom) || has(self.passwordFrom))",message="OAUTHBEARER takes no username and no password: write oauth alone"
type KafkaAuthentication struct {
	// type is the SASL mechanism. A change rolls the relays.
	// +kubebuilder:validation:Enum=PLAIN;SCRAM-SHA-256;SCRAM-SHA-512;OAUTHBEARER
	// +required
	Type string `json:"type,omitempty"`

	// username is the user. This or usernameFrom is required, but for OAUTHBEARER,
	// which takes neither. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Username string `json:"username,omitempty"`

	// usernameFrom is where the user is; read again when it changes, without a
	// restart. Unset: username.
	// +optional
	UsernameFrom *SecretSource `json:"usernameFrom,omitempty"`

	// passwordFrom is where the password is; read again when it changes, without
	// a restart. Required, but for OAUTHBEARER, which does not take it.
	// +optional
	PasswordFrom *SecretSource `json:"passwordFrom,omitempty"`

	// oauth is how tokens are got. Required for OAUTHBEARER, and only for it.
	// +optional
	OAuth *OAuth `json:"oauth,omitempty"`
}

// OAuth is the client credentials grant of RFC 6749.
type OAuth struct {
	// tokenEndpoint is the address that gives out tokens: https, or http on
	// loopback. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (self.matches('^https://[^/@#? ]+([/?][^# ]*)?$') || self.matches('^http://(localhost|127([.][0-9]{1,3}){3}|[[]::1[]])(:[0-9]+)?([/?][^# ]*)?$'))",message="write an https address without user and fragment (http only on loopback), such as https://login.example.com/oauth2/token"
	// +required
	TokenEndpoint string `json:"tokenEndpoint,omitempty"`

	// clientID is the client. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	ClientID string `json:"clientID,omitempty"`

	// clientSecretFrom is where its secret is; read again when it changes, without
	// a restart.
	// +required
	ClientSecretFrom SecretSource `json:"clientSecretFrom,omitzero"`

	// scope is asked for when it is set. Unset: none. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Scope string `json:"scope,omitempty"`

	// audience is asked for when it is set. Unset: none. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Audience string `json:"audience,omitempty"`

	// caFrom is which certificates the token endpoint may show. Unset: those of
	// the image.
	// +optional
	CAFrom *CertificateSource `json:"caFrom,omitempty"`
}
