// SPDX-License-Identifier: Apache-2.0

package finding

// FleetSize is which containers the workloads of a cluster need, by what its agents have seen of them: those at risk
// first, then those that would save most.
type FleetSize struct {
	Head
	At         string          `json:"at"`     // when the agents were asked, RFC 3339
	Agents     int             `json:"agents"` // running or not
	Silent     []SilentAgent   `json:"silent"` // of them, those whose nodes are not looked at
	Containers int             `json:"containers"`
	Price      SizePrice       `json:"price"`
	Saves      float64         `json:"saves"` // what workloads could save together, in the unit of the price
	Costs      float64         `json:"costs"` // what the others need more
	Workloads  []SizedWorkload `json:"workloads"`
	Gone       int             `json:"gone"`     // workloads that were seen and have no container now: not listed
	LeftOut    int             `json:"left_out"` // workloads that agents have no room for, counted on each node
	Unknown    []Gap           `json:"unknown"`
	Next       string          `json:"next"` // the one command to try next
}

// SizedWorkload is the container that each of a workload's containers of one name needs. Memory is valued by its limit.
type SizedWorkload struct {
	Namespace  *string `json:"namespace"`
	Name       *string `json:"workload"`  // as in a fleet
	Container  *string `json:"container"` // as in a fleet
	Containers int     `json:"containers"`
	Nodes      int     `json:"nodes"`
	Days       float64 `json:"seen_days"` // for which one node at most has seen it

	Memory     SizeValue `json:"memory_limit_bytes"` // what each needs
	GOMEMLIMIT SizeValue `json:"gomemlimit_bytes"`
	CPURequest SizeValue `json:"cpu_request_cores"`
	CPULimit   SizeValue `json:"cpu_limit_cores"`

	HasMemory  Span[float64] `json:"has_memory_limit_bytes"`
	HasRequest Span[float64] `json:"has_cpu_request_cores"` // unknown if several requests give the weight
	HasQuota   Span[float64] `json:"has_cpu_limit_cores"`

	Saves   *float64 `json:"saves"`    // by all containers together, in the unit of the price; below 0 = it costs more; null = unknown
	Risks   []Why    `json:"risks"`    // gravest first
	Modeled bool     `json:"modelled"` // false: the heap is unknown, and all memory in use counts as needed
	Seen    SizeSeen `json:"seen"`
	Unseen  []Why    `json:"unseen"` // what agents could not see
}
