// SPDX-License-Identifier: Apache-2.0

package podid

import (
	"strings"
	"testing"
)

func TestWorkload(t *testing.T) {
	for _, c := range [][5]string{
		{"ReplicaSet", "web-5d8f", "5d8f", "", "Deployment/web"},
		{"ReplicaSet", "web-5d8f", "", "", "ReplicaSet/web-5d8f"},
		{"ReplicaSet", "web", "web", "", "ReplicaSet/web"},
		{"ReplicaSet", "-web", "web", "", "ReplicaSet/-web"},
		{"ReplicaSet", "web-5d8f", "", "5d8f", "Rollout/web"},
		{"ReplicaSet", "web-eu-5d8f", "", "5d8f", "Rollout/web-eu"},
		{"ReplicaSet", "web-5d8f", "77aa", "5d8f", "Rollout/web"},
		{"ReplicaSet", "web-77aa", "77aa", "5d8f", "Deployment/web"},
		{"ReplicaSet", "web-5d8f", "", "77aa", "ReplicaSet/web-5d8f"},
		{"StatefulSet", "web-5d8f", "5d8f", "5d8f", "StatefulSet/web-5d8f"},
		{"Job", "backup-29384756", "", "", "CronJob/backup"},
		{"Job", "backup-1", "", "", "Job/backup-1"},
		{"Job", "29384756", "", "", "Job/29384756"},
		{"StatefulSet", "db", "", "", "StatefulSet/db"},
		{"Pod", "p", "", "", "Pod/p"},
	} {
		if got := Workload(c[0], c[1], c[2], c[3]); got != c[4] {
			t.Errorf("%q: %s", c, got)
		}
	}
}

// TestAlone: the result is the same before and after the API server generates a name.
func TestAlone(t *testing.T) {
	// The API server uses at most 58 bytes of a generateName.
	long, cut := strings.Repeat("a", 70)+"-", strings.Repeat("a", 58)
	for _, c := range [][3]string{
		{"p", "", "Pod/p"},
		{"", "web-", "Pod/web"},
		{"web-x7k2p", "web-", "Pod/web"},
		{"web-x7k2p", "", "Pod/web-x7k2p"},
		{"other", "web-", "Pod/other"},
		{"web-1", "web-", "Pod/web-1"},
		{"", "", "Pod/"},
		{"abcde", "-", "Pod/abcde"},
		{"", long, "Pod/" + cut},
		{cut + "x7k2p", long, "Pod/" + cut},
		{cut + "-x7k2p", long, "Pod/" + cut + "-x7k2p"},
		{"", cut[1:] + "-", "Pod/" + cut[1:]},
		{cut[1:] + "-x7k2p", cut[1:] + "-", "Pod/" + cut[1:]},
		{"", cut[1:] + "-bc-", "Pod/" + cut[1:]}, // cut behind the "-"
		{cut[1:] + "-x7k2p", cut[1:] + "-bc-", "Pod/" + cut[1:]},
	} {
		if got := Alone(c[0], c[1]); got != c[2] {
			t.Errorf("%q: %s", c, got)
		}
	}
}

// TestOfName: names as controllers of Kubernetes 1.36 gave them.
func TestOfName(t *testing.T) {
	for name, want := range map[string]string{
		"web-5d4f7c9b6d-x7k2p":           "Deployment/web",
		"shop-web-7f8b9c4d5-8qv4z":       "Deployment/shop-web",
		"fluentd-x7k2p":                  "", // of a DaemonSet
		"web-0":                          "", // of a StatefulSet
		"backup-29384750-x7k2p":          "", // of a CronJob: a time
		"web-5d4f7c9b6d-aeiou":           "",
		"web-hello-x7k2p":                "",
		"-5d4f7c9b6d-x7k2p":              "",
		"5d4f7c9b6d-x7k2p":               "",
		"":                               "",
		"web-5d4f7c9b6d5d4f7c9b6d-x7k2p": "",
	} {
		if got := OfName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
