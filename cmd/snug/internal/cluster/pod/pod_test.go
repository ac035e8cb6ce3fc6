// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/limits"
)

func parsed(t *testing.T, text string) *Pod {
	t.Helper()
	var p Pod
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return &p
}

func TestRead(t *testing.T) {
	one := func(c Container) *Pod { return &Pod{Spec: Spec{Containers: Containers{c}}} }
	for text, want := range map[string]*Pod{
		`{}`:                            {},
		`{"metadata":null,"spec":null}`: {},
		`{"metadata":{"labels":{"snug.dev/inject":null}}}`: {Metadata: &Metadata{Labels: Texts{true, map[string]string{"snug.dev/inject": ""}, 15 + 4}}},
		`{"metadata":{}}`: {Metadata: &Metadata{}},
		`{"metadata":{"name":"a\u0062\"\\","labels":{"snug.dev/inject":"en\u0061bled","x":"\\"},"annotations":{"snug.dev/added":"é","b":null}}}`: {Metadata: &Metadata{Name: `ab"\`,
			Labels:      Texts{true, map[string]string{"snug.dev/inject": "enabled"}, 15 + 14 + 1 + 4},
			Annotations: Texts{true, map[string]string{"snug.dev/added": "é"}, 14 + 4 + 1 + 4}}},
		` { "metadata" : { "labels" : { } , "annotations" : null } , "spec" : { "containers" : [ { "env" : [ ] } ] } } `: {
			Metadata: &Metadata{Labels: Texts{Given: true}}, Spec: Spec{Containers: Containers{{Env: Env{Given: true}}}}},
		`{"metadata":{"ownerReferences":[null,{"kind":"a","controller":false},{"kind":"b","name":"c","controller":true},{"kind":"d","controller":true},{"kind":"e","controller":null}]}}`: {
			Metadata: &Metadata{Controller: Owner{"b", "c"}}},
		`{"spec":{"containers":[{"env":null,"envFrom":[null,{}],"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"},null]}]}}`: one(
			Container{EnvFrom: 2, Resize: Resizings{{"cpu", "NotRequired"}, {}}}),
		`{"spec":{"containers":[{"env":[null,{"name":null},{"name":"GOMEMLIMIT","valueFrom":{"a":["]"]}},{"name":"A","value":"secret"},{"value":"2","name":"GOMAXPROCS","valueFrom":null}]}]}}`: one(
			Container{Env: Env{true, []Var{{2, "GOMEMLIMIT", "", true}, {4, "GOMAXPROCS", "2", false}}}}),
		`{"spec":{"restartPolicy":"Never","resources":{"limits":{"cpu":"1","x":{"y":[1,2,{"z":"}"}]}},"requests":null},"Containers":[{}]}}`: {
			Spec: Spec{RestartPolicy: "Never", Resources: Resources{Limits: Amounts{CPU: "1"}}}},
		`{"spec":{"os":{"name":"windows"},"nodeSelector":{"disk":"ssd","kubernetes.io/os":"windows"}}}`: {
			Spec: Spec{OS: OS{"windows"}, NodeSelector: Texts{true, map[string]string{"kubernetes.io/os": "windows"}, 4 + 5 + 16 + 9}}},
		`{"metadata":{"labels":{"snug.dev/x":"y","snug.dev/gomaxprocs":"a","pod-template-hash":"b"},"annotations":{"snug.dev/skipped":"c","snug.dev/skip":"d"}}}`: {Metadata: &Metadata{
			Labels:      Texts{true, map[string]string{"snug.dev/gomaxprocs": "a", "pod-template-hash": "b"}, 10 + 3 + 19 + 3 + 17 + 3},
			Annotations: Texts{true, map[string]string{"snug.dev/skipped": "c"}, 16 + 3 + 13 + 3}}},
	} {
		if got := parsed(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
	}
	for _, text := range []string{
		`3`, `"x"`, `[]`, `{"spec":[]}`, `{"spec":{"containers":{}}}`, `{"spec":{"containers":[null]}}`, `{"spec":{"containers":[[]]}}`, `{"spec":{"containers":[3]}}`,
		`{"spec":{"restartPolicy":1e5}}`, `{"spec":{"resources":{"limits":{"cpu":2}}}}`, `{"metadata":{"labels":{"a":1}}}`, `{"metadata":{"labels":{"snug.dev/inject":true}}}`,
		`{"metadata":{"labels":[]}}`, `{"spec":{"containers":[{"env":{}}]}}`, `{"spec":{"containers":[{"envFrom":3}]}}`,
		`{"metadata":{},"metadata":{}}`, `{"metadata":{"labels":{"a":"","a":""}}}`, `{"spec":{"containers":[{"env":[{"name":"a","name":"b"}]}]}}`, `{"spec":{"containers":[}}`, `{"spec":{"containers":[{}`,
	} {
		if err := json.Unmarshal([]byte(text), new(Pod)); err == nil {
			t.Errorf("%s can be read", text)
		}
	}
}

func TestSound(t *testing.T) {
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	long := strings.Repeat("x", maxNameLen+1)
	for text, want := range map[string]bool{
		`{"spec":{"containers":` + list(maxContainers, `{}`) + `}}`:                                                        true,
		`{"spec":{"containers":` + list(maxContainers+1, `{}`) + `}}`:                                                      false,
		`{"spec":{"initContainers":` + list(5*maxContainers, `{}`) + `}}`:                                                  false,
		`{"spec":{"containers":[{"resizePolicy":` + list(maxResizings, `{}`) + `}]}}`:                                      true,
		`{"spec":{"containers":[{"resizePolicy":` + list(maxResizings+1, `{}`) + `}]}}`:                                    false,
		`{"spec":{"containers":[{"env":` + list(10*maxVars, `{"name":"A"}`) + `}]}}`:                                       true,
		`{"spec":{"containers":[{"env":` + list(maxVars, `{"name":"GOMEMLIMIT"}`) + `}]}}`:                                 true,
		`{"spec":{"containers":[{"env":` + list(maxVars+1, `{"name":"GOMEMLIMIT"}`) + `}]}}`:                               false,
		`{"spec":{"containers":` + list(maxPodVars/maxVars+1, `{"env":`+list(maxVars, `{"name":"GOMEMLIMIT"}`)+`}`) + `}}`: false,
		`{"metadata":{"name":"` + long[1:] + `"}}`:                                                                         true,
		`{"metadata":{"name":"` + long + `"}}`:                                                                             false,
		`{"metadata":{"ownerReferences":[{"name":"` + long + `","controller":true}]}}`:                                     false,
		`{"spec":{"containers":[{"image":"` + long + `"}]}}`:                                                               true,
		`{"spec":{"containers":[{"resources":{"requests":{"cpu":"` + long + `"}}}]}}`:                                      false,
		`{"spec":{"resources":{"limits":{"memory":"` + long + `"}}}}`:                                                      false,
	} {
		if got := parsed(t, text).Sound(); got != want {
			t.Errorf("%.100s: %t", text, got)
		}
	}
}

// TestFactsShared: a container shares the pod's limit with the containers that run beside it.
func TestFactsShared(t *testing.T) {
	for spec, want := range map[string]string{
		`"containers":[{}]`:    "main false",
		`"containers":[{},{}]`: "main true, main true",
		`"containers":[{"resources":{"limits":{"memory":"1"}}},{}]`:          "main false, main true",
		`"initContainers":[{}],"containers":[{}]`:                            "init false, main false",
		`"initContainers":[{},{"restartPolicy":"Always"}],"containers":[{}]`: "init true, sidecar true, main true",
	} {
		p := parsed(t, `{"spec":{"resources":{"limits":{"memory":"1Gi"}},`+spec+`}}`)
		var got []string
		one := func(c *Container, as Role) {
			f := p.Facts(c, as, p.Beside(), p.Given(c))
			got = append(got, fmt.Sprint(as, " ", f.MemoryShared))
		}
		for i := range p.Spec.InitContainers {
			one(&p.Spec.InitContainers[i], p.Spec.InitContainers[i].AsInit())
		}
		for i := range p.Spec.Containers {
			one(&p.Spec.Containers[i], Main)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", spec, strings.Join(got, ", "), want)
		}
	}
}

func TestFacts(t *testing.T) {
	p := parsed(t, `{"spec":{"restartPolicy":"Never","resources":{"limits":{"cpu":"2"}},"containers":[{"env":[{"name":"A"},{"name":"GOMAXPROCS"}],"envFrom":[{}],
		"resources":{"limits":{"memory":"many"},"requests":{"cpu":"1500m"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]}}`)
	c := &p.Spec.Containers[0]
	want := podpatch.Container{CPULimit: limits.Of[int64](2000), CPURequest: limits.Of[int64](1500), Set: map[string]bool{"GOMAXPROCS": true}, Opaque: true,
		Resize: map[string]string{"cpu": "NotRequired"}, NoRestart: true}
	if got := p.Facts(c, Main, p.Beside(), p.Given(c)); !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}
