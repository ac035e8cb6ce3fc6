// SPDX-License-Identifier: Apache-2.0

package podid

import "strings"

// HashLabel is the label by which a Deployment tells its ReplicaSets, and their pods, apart.
// Source: k8s.io/api apps/v1, DefaultDeploymentUniqueLabelKey.
const HashLabel = "pod-template-hash"

// RolloutHashLabel is the same label of an Argo Rollout.
// Source: argo-rollouts pkg/apis/rollouts/v1alpha1, DefaultRolloutUniqueLabelKey.
const RolloutHashLabel = "rollouts-pod-template-hash"

// Workload returns the workload of a pod, "Deployment/web". kind and name are those of its
// controlling owner, hash and rollout the values of the labels HashLabel and RolloutHashLabel;
// "" = none. The ReplicaSets of a Deployment or Rollout, and the Jobs of a CronJob, change, so
// their owner is derived from their name.
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

// generatedLen is the number of letters that the API server appends to a generateName, after
// at most maxBase bytes of it.
// Source: k8s.io/apiserver/pkg/storage/names, MaxGeneratedNameLength.
const (
	generatedLen = 5
	maxBase      = 63 - generatedLen
)

// Alone returns the workload of a pod without a controller: "Pod/web". If the API server
// generates the pod's name, which it does after admission, it is the base of the name.
func Alone(name, generateName string) string {
	generateName = generateName[:min(len(generateName), maxBase)]
	generated := strings.HasPrefix(name, generateName) && len(name) == len(generateName)+generatedLen
	if base := strings.TrimSuffix(generateName, "-"); base != "" && (name == "" || generated) {
		name = base
	}
	return "Pod/" + name
}

// OfName returns the workload of a pod by its name alone: "Deployment/web" for "web-5d4f7c9b6d-x7k2p", whose
// second part is the hash of a template and whose last one is random; "" for all others, because their names
// do not tell the kind. Source: k8s.io/apimachinery/pkg/util/rand, SafeEncodeString and String; a hash is a
// decimal number of 32 bits, whose digits are encoded by these ten letters.
func OfName(name string) string {
	rest, random, ok := cutLast(name, "-")
	if !ok || len(random) != 5 || strings.Trim(random, "bcdfghjklmnpqrstvwxz2456789") != "" {
		return ""
	}
	deployment, hash, ok := cutLast(rest, "-")
	if !ok || deployment == "" || len(hash) < 6 || len(hash) > 10 || strings.Trim(hash, "456789bcdf") != "" {
		return ""
	}
	return "Deployment/" + deployment
}
