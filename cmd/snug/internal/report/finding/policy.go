// SPDX-License-Identifier: Apache-2.0

package finding

// Policy is a set of admission policies.
type Policy struct {
	Head
	YAML    string `json:"yaml"` // the documents
	Objects []any  `json:"objects"`
}

// Given lists what admission would add to pods.
type Given struct {
	Head
	Inputs     []string         `json:"inputs"`     // your arguments
	Inject     string           `json:"inject"`     // "labelled", or "all": pods without a label are opted in
	Mode       string           `json:"mode"`       // "enforce", or "observe": only annotate pods
	Containers []GivenContainer `json:"containers"` // in the order of the files
	Unknown    []Gap            `json:"unknown"`    // also entries with the field opted_in
	Next       string           `json:"next"`       // "" = none
}

// GapOptedIn is the Gap.Field for namespaces in which it is unknown whether pods are opted in.
const GapOptedIn = "opted_in"

// GivenContainer is one container and what would be added to it.
type GivenContainer struct {
	File      string     `json:"file"`
	Line      int        `json:"line"`
	Object    string     `json:"object"` // "Deployment shop/cart"
	Container string     `json:"container"`
	Role      string     `json:"container_role"` // main, init or sidecar
	OptedIn   *bool      `json:"opted_in"`       // null = depends on the namespace's labels, which are unknown
	Env       []GivenEnv `json:"env"`            // to add, or to put in the place of those of the same name; if opted_in is null: provided the labels opt it in or, with inject "all", do not opt it out
	RestartOn []string   `json:"restart_on"`     // resources whose resize would then restart the container
	Reasons   []GivenWhy `json:"reasons"`
}

// GivenEnv is a variable to set.
type GivenEnv struct {
	Name     string  `json:"name"`
	Value    *string `json:"value"`    // null = a reference
	Resource *string `json:"resource"` // the resource it refers to, with divisor 1; null = a plain value
}

// GivenWhy says why a variable gets its value, or is left unchanged.
type GivenWhy struct {
	Knob   string `json:"knob"`
	Reason string `json:"reason"` // id for `snug explain`
	Text   string `json:"text"`
}
