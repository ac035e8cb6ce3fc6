// SPDX-License-Identifier: Apache-2.0

package podid

import "strings"

// HashLabel is what a Deployment tells its ReplicaSets, and their pods, apart by.
// Source: k8s.io/api apps/v1, DefaultDeploymentUniqueLabelKey.
const HashLabel = "pod-template-hash"

// RolloutHashLabel is the same of a Rollout.
// Source: argo-rollouts pkg/apis/rollouts/v1alpha1, DefaultRolloutUniqueLabelKey.
const RolloutHashLabel = "rollouts-pod-template-hash"

// Workload names what a pod belongs to, "Deployment/web", by the kind and name of the
// controller among its owners and the values of its labels HashLabel and RolloutHashLabel,
// "" = it has none. The ReplicaSets of a Deployment and of a Rollout, and the Jobs of a
// CronJob, change; what made them is taken from their names.
// Source: k8s.io/kubernetes/pkg/controller/deployment and .../cronjob, getJobName;
// argo-rollouts/rollout, createNewReplicaSet.
func Workload(kind, name, hash, rollout string) string {
	switch base, end, _ := cutLast(name, "-"); {
	case base == "":
	case kind == "ReplicaSet" && hash != "" && end == hash:
		kind, name = "Deployment", base
	case kind == "ReplicaSet" && rollout != "" && end == rollout:
		kind, name = "Rollout", base
	case kind == "Job" && len(end) >= 8 && strings.Trim(end, "0123456789") == "":
		kind, name = "CronJob", base // the end is a time in minutes
	}
	return kind + "/" + name
}

// generated is how many letters the API server puts behind a generateName, of which it
// takes no more than mostBase bytes.
// Source: k8s.io/apiserver/pkg/storage/names, MaxGeneratedNameLength.
const (
	generated = 5
	mostBase  = 63 - generated
)

// Alone names a pod without a controller as if it were one: "Pod/web". Of one whose name
// the API server makes up, which it does after it has asked who admits it, that is the
// beginning.
func Alone(name, generateName string) string {
	generateName = generateName[:min(len(generateName), mostBase)]
	made := strings.HasPrefix(name, generateName) && len(name) == len(generateName)+generated
	if base := strings.TrimSuffix(generateName, "-"); base != "" && (name == "" || made) {
		name = base
	}
	return "Pod/" + name
}
