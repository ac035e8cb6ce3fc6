// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
	"testing"
)

var wanted = Wanted{
	Requests: []Pair{{"cpu", "120m"}, {"memory", "336Mi"}}, Limits: []Pair{{"cpu", "1000m"}, {"memory", "336Mi"}},
	Env: []Pair{{"GOMEMLIMIT", "302MiB"}, {"GOMAXPROCS", ""}},
}

const podHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"

// TestSize: values are set in the style of the file, and nothing else changes. In want, a line with > in front is new or
// another one.
func TestSize(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing there": {
			"  - name: app # it\n    image: app # 1\n    ports: [{containerPort: 80}]\n",
			`  - name: app # it
    image: app # 1
>    env:
>    - name: GOMEMLIMIT
>      value: 302MiB
>    resources:
>      requests:
>        cpu: 120m
>        memory: 336Mi
>      limits:
>        cpu: 1000m
>        memory: 336Mi
    ports: [{containerPort: 80}]
`},
		"all there": {
			"  - name: app\n    image: app\n    env:\n    # kept\n    - name: OTHER\n      value: x\n    - name: GOMEMLIMIT\n      value: 1GiB # ours\n    - name: GOMAXPROCS\n      value: \"4\"\n    resources:\n      limits:\n        memory: \"2Gi\" # much\n        cpu: 4\n      requests: {memory: 1Gi, cpu: 500m}\n",
			`  - name: app
    image: app
    env:
    # kept
    - name: OTHER
      value: x
    - name: GOMEMLIMIT
>      value: 302MiB # ours
    resources:
      limits:
>        memory: "336Mi" # much
>        cpu: 1000m
>      requests: {memory: 336Mi, cpu: 120m}
`},
		"one limit": {
			"  - name: app\n    image: app\n    resources:\n      # why\n      limits:\n        memory: 512Mi # half\n      # end\n    env:\n    - {name: A, value: b}\n    - name: GOMAXPROCS\n      valueFrom:\n        resourceFieldRef: {resource: limits.cpu}\n",
			`  - name: app
    image: app
    resources:
      # why
      limits:
>        memory: 336Mi # half
>        cpu: 1000m
>      requests:
>        cpu: 120m
>        memory: 336Mi
      # end
    env:
    - {name: A, value: b}
>    - name: GOMEMLIMIT
>      value: 302MiB
`},
		"empty": {
			"  - name: app\n    image: app\n    resources: {} # later\n    env: []\n",
			`  - name: app
    image: app
>    resources: # later
>      requests:
>        cpu: 120m
>        memory: 336Mi
>      limits:
>        cpu: 1000m
>        memory: 336Mi
>    env:
>    - name: GOMEMLIMIT
>      value: 302MiB
`},
		"null": {
			"  - name: app\n    image: app\n    resources:\n      limits: # none\n      requests: ~\n    env:\n",
			`  - name: app
    image: app
    resources:
      limits: # none
>        cpu: 1000m
>        memory: 336Mi
>      requests:
>        cpu: 120m
>        memory: 336Mi
    env:
>    - name: GOMEMLIMIT
>      value: 302MiB
`},
		"in one line": {
			"  - {name: app, image: app, resources: {limits: {memory: 512Mi}}, env: [{name: A, value: b}]}\n",
			">  - {name: app, image: app, resources: {limits: {memory: 336Mi, cpu: 1000m}, requests: {cpu: 120m, memory: 336Mi}}, env: [{name: A, value: b}, {name: GOMEMLIMIT, value: 302MiB}]}\n"},
		"a comment in the reference": {
			"  - name: app\n    image: app\n    env:\n    - name: GOMEMLIMIT\n      valueFrom:\n        # nine tenths\n        resourceFieldRef:\n          resource: limits.memory # of it\n          divisor: \"1\" # bytes\n    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n",
			"  - name: app\n    image: app\n    env:\n    - name: GOMEMLIMIT\n>      value: 302MiB # nine tenths # of it # bytes\n    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n"},
		"variables in brackets": {
			"  - name: app\n    image: app\n    env: [{name: GOMAXPROCS, value: \"2\"}, {name: A, value: b}, {name: GOMEMLIMIT, value: 1GiB}] # all\n    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n",
			"  - name: app\n    image: app\n>    env: [{name: A, value: b}, {name: GOMEMLIMIT, value: 302MiB}] # all\n    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n"},
		"the last in brackets": {
			"  - name: app\n    image: app\n    env: [{name: GOMEMLIMIT, value: 302MiB}, {name: GOMAXPROCS, value: \"2\"}]\n    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n",
			"  - name: app\n    image: app\n>    env: [{name: GOMEMLIMIT, value: 302MiB}]\n    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n"},
		"a patch": {
			"  - name: app\n    resources:\n      limits: {memory: 1Gi}\n",
			"  - name: app\n>    env:\n>    - name: GOMEMLIMIT\n>      value: 302MiB\n    resources:\n>      limits: {memory: 336Mi, cpu: 1000m}\n>      requests:\n>        cpu: 120m\n>        memory: 336Mi\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ending := range []string{"\n", "\r\n"} {
				f := Parse("p.yaml", []byte(strings.ReplaceAll(podHead+c.text, "\n", ending)))
				after, made, err := f.Size(f.Objects[0].Pods[0].Containers[0], wanted)
				if err != nil {
					t.Fatal(err)
				}
				want := strings.ReplaceAll(podHead+strings.ReplaceAll("\n"+c.want, "\n>", "\n")[1:], "\n", ending)
				if got := string(after.Text); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				limit, ok := made.Setting("GOMEMLIMIT")
				if procs, _ := made.Setting("GOMAXPROCS"); limit != "302MiB" || !ok || procs != "" || made.Resources.Limits["memory"].Text != "336Mi" {
					t.Errorf("%+v", made)
				}
				again, _, err := after.Size(made, wanted)
				if err != nil || again != after {
					t.Errorf("a second time: %v", err)
				}
			}
		})
	}
}

// TestSizeJSON: JSON stays JSON.
func TestSizeJSON(t *testing.T) {
	for _, text := range []string{
		`{"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "app", "image": "app", "ports": []}]}}`,
		`{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"app","image":"app","env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":2}}}]}}`,
		"{\n  \"kind\": \"Pod\",\n  \"apiVersion\": \"v1\",\n  \"spec\": {\n    \"containers\": [\n      {\n        \"name\": \"app\",\n        \"image\": \"app\",\n        \"env\": [],\n        \"resources\": {}\n      }\n    ]\n  }\n}\n",
	} {
		f := Parse("p.json", []byte(text))
		after, c, err := f.Size(f.Objects[0].Pods[0].Containers[0], wanted)
		if err != nil {
			t.Errorf("%v: %s", err, text)
			continue
		}
		limit, _ := c.Setting("GOMEMLIMIT")
		if !strings.Contains(string(after.Text), `"memory"`) || c.Resources.Requests["cpu"].Text != "120m" || limit != "302MiB" || strings.Contains(string(after.Text), "cpu: 120m") {
			t.Errorf("%s", after.Text)
		}
	}
}

// TestSizeRefuses: what others share, or cannot be set alone, stays as it is, and the reason names it.
func TestSizeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"shared":               {"  - name: app\n    image: app\n    resources: &r\n      limits:\n        memory: 1Gi\n  - name: b\n    image: b\n    resources: *r\n", "the requests"},
		"an alias":             {"  - name: app\n    image: app\n    resources: &r\n      limits: {memory: 1Gi}\n  - name: b\n    image: b\n    resources: *r\n", "the re"},
		"twice":                {"  - name: app\n    image: app\n    env:\n    - {name: GOMEMLIMIT, value: 1GiB}\n    - {name: GOMEMLIMIT, value: 2GiB}\n", "GOMEMLIMIT"},
		"in use":               {"  - name: app\n    image: app\n    args: [-p, $(GOMAXPROCS)]\n    env:\n    - name: A\n      value: b\n    - name: GOMAXPROCS\n      value: \"2\"\n", "GOMAXPROCS"},
		"block style":          {"  - name: app\n    image: app\n    resources:\n      requests:\n        cpu: >-\n          1\n        memory: 1Gi\n", "the cpu of the requests"},
		"a merge":              {"  - name: app\n    image: app\n    <<: {env: [{name: A, value: b}]}\n", "the container: a merge key"},
		"a merge of an anchor": {"  - name: app\n    image: app\n    <<: *b\n", "the container: a merge key"},
		"a merge of resources": {"  - name: app\n    image: app\n    resources:\n      <<: {limits: {memory: 1Gi}}\n      requests: {cpu: 1}\n", "the container: a merge key"},
		"a merge of limits":    {"  - name: app\n    image: app\n    resources:\n      limits:\n        <<: {memory: 1Gi}\n        cpu: 1\n", "the container: a merge key"},
		"a merge of variables": {"  - name: app\n    image: app\n    env:\n    - <<: {name: A}\n      value: b\n", "the container: a merge key"},
		"resources twice":      {"  - name: app\n    image: app\n    resources: {limits: {memory: 1Gi}}\n    resources: {limits: {cpu: 1}}\n", "the container: a second resources is"},
		"variables twice":      {"  - name: app\n    image: app\n    env:\n    - {name: A, value: b}\n    env:\n    - {name: B, value: b}\n", "the container: a second env is"},
		"memory twice":         {"  - name: app\n    image: app\n    resources: {limits: {memory: 1Gi, memory: 2Gi}}\n", "the container: a second memory is"},
	} {
		t.Run(name, func(t *testing.T) {
			head := podHead
			if strings.Contains(c.text, "*b") {
				head = "x-b: &b {env: [{name: A, value: b}]}\n" + head
			}
			f := Parse("p.yaml", []byte(head+c.text))
			all := f.Objects[0].Pods[0].Containers
			_, _, err := f.Size(all[slices.IndexFunc(all, func(c *Container) bool { return name != "an alias" || c.Name == "b" })], wanted)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestSizeLastVariable: env goes with its only variable, or the reason says why not.
func TestSizeLastVariable(t *testing.T) {
	const head, rest = podHead + "  - name: app\n    image: app\n", "    resources: {requests: {cpu: 120m, memory: 336Mi}, limits: {cpu: 1000m, memory: 336Mi}}\n"
	less := wanted
	less.Env = []Pair{{"GOMEMLIMIT", ""}, {"GOMAXPROCS", ""}}
	for name, c := range map[string]struct{ text, want string }{
		"alone":     {"    env:\n    - name: GOMAXPROCS\n      value: \"2\" # two\n", ""},
		"indented":  {"    env:\n      - {name: GOMAXPROCS, value: \"2\"}\n", ""},
		"brackets":  {"    env: [{name: GOMAXPROCS, value: \"2\"}]\n", "    env: []\n"},
		"commented": {"    env:\n    # - name: GOGC\n    - name: GOMAXPROCS\n      value: \"2\"\n", "!GOMAXPROCS: it is the only variable, and env cannot be removed with it"},
		"in use":    {"    args: [$(GOMAXPROCS)]\n    env:\n    - name: GOMAXPROCS\n      value: \"2\"\n", "!GOMAXPROCS: " + errShape.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{head + c.text + rest, head + rest + c.text} {
				f := Parse("p.yaml", []byte(text))
				after, _, err := f.Size(f.Objects[0].Pods[0].Containers[0], less)
				if why, refused := strings.CutPrefix(c.want, "!"); refused {
					if err == nil || err.Error() != why {
						t.Errorf("%v", err)
					}
				} else if err != nil || string(after.Text) != strings.Replace(text, c.text, c.want, 1) {
					t.Errorf("%v\n%s", err, after.Text)
				}
			}
		})
	}
}
