// SPDX-License-Identifier: Apache-2.0

package finding

// Policy is a set of admission policies.
type Policy struct {
	Head
	YAML    string `json:"yaml"` // the documents
	Objects []any  `json:"objects"`
}

// Given is what pods would be given.
type Given struct {
	Head
	Inputs     []string         `json:"inputs"`     // as they were named
	Inject     string           `json:"inject"`     // labelled, or all: who says nothing is opted in
	Mode       string           `json:"mode"`       // enforce, or observe: pods are annotated with it, and given nothing
	Containers []GivenContainer `json:"containers"` // in the order of the files
	Unknown    []Gap            `json:"unknown"`    // what could not be read, and GapOptedIn
	Next       string           `json:"next"`       // "" = nothing
}

// GapOptedIn is the field of gaps that say of which namespaces it is not known whether
// their pods are opted in.
const GapOptedIn = "opted_in"

// GivenContainer is one container, and what it would be given.
type GivenContainer struct {
	File      string     `json:"file"`
	Line      int        `json:"line"`
	Object    string     `json:"object"` // "Deployment shop/cart"
	Container string     `json:"container"`
	Role      string     `json:"container_role"` // main, init or sidecar
	OptedIn   *bool      `json:"opted_in"`       // null = its namespace's labels say, which are not known
	Env       []GivenEnv `json:"env"`            // to be added; where opted_in is null, if they opt it in, or with inject all, do not opt it out
	RestartOn []string   `json:"restart_on"`     // resources whose resize would restart the container from then on
	Reasons   []GivenWhy `json:"reasons"`
}

// GivenEnv is a variable to be added.
type GivenEnv struct {
	Name     string  `json:"name"`
	Value    *string `json:"value"`    // null = a reference
	Resource *string `json:"resource"` // that it refers to, with the divisor 1
}

// GivenWhy says why a variable is what it is, or is left alone.
type GivenWhy struct {
	Knob   string `json:"knob"`
	Reason string `json:"reason"` // snug explain says more
	Text   string `json:"text"`
}
