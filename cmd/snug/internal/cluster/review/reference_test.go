// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// What package encoding/json makes of a question, to compare the scanner with.
type (
	refEnvelope struct {
		APIVersion, Kind string
		Request          *struct {
			UID                               string
			Resource                          struct{ Group, Resource string }
			SubResource, Operation, Namespace string
			Object, OldObject                 *refPod
		}
	}
	refPod struct {
		Metadata *struct {
			Name, GenerateName  string
			Labels, Annotations map[string]string
			OwnerReferences     []struct {
				Kind, Name string
				Controller bool
			}
		}
		Spec struct {
			RestartPolicy              string
			Resources                  refResources
			InitContainers, Containers []*refContainer
		}
	}
	refContainer struct {
		Name, Image, RestartPolicy string
		Env                        []struct {
			Name, Value string
			ValueFrom   json.RawMessage
		}
		EnvFrom      []any
		Resources    refResources
		ResizePolicy []struct{ ResourceName, RestartPolicy string }
	}
	refResources struct{ Limits, Requests struct{ CPU, Memory string } }
)

// tooLong tells whether one of some names is longer than any object's.
func tooLong(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(name) > 253 })
}

// reference reads a question by encoding/json; nil where it cannot be read.
func reference(text []byte) *request {
	var e refEnvelope
	if json.Unmarshal(text, &e) != nil || e.Request == nil || e.APIVersion != "admission.k8s.io/v1" || e.Kind != "AdmissionReview" {
		return nil
	}
	r := e.Request
	q := &request{uid: r.UID, group: r.Resource.Group, resource: r.Resource.Resource, subresource: r.SubResource, operation: r.Operation, namespace: r.Namespace}
	if tooLong(r.UID, r.Namespace) {
		return nil
	}
	for to, from := range map[**pod]*refPod{&q.object: r.Object, &q.old: r.OldObject} {
		if from == nil {
			continue
		}
		p := &pod{restartPolicy: from.Spec.RestartPolicy, limits: amounts{from.Spec.Resources.Limits.CPU, from.Spec.Resources.Limits.Memory}}
		if tooLong(p.limits.cpu, p.limits.memory, from.Spec.Resources.Requests.CPU, from.Spec.Resources.Requests.Memory) {
			return nil
		}
		if m := from.Metadata; m != nil {
			if tooLong(m.Name, m.GenerateName) {
				return nil
			}
			p.named, p.name, p.generateName, p.annotated = true, m.Name, m.GenerateName, m.Annotations != nil
			p.labels, p.annotations = refOurs(m.Labels), refOurs(m.Annotations)
			for _, o := range m.OwnerReferences {
				if tooLong(o.Kind, o.Name) {
					return nil
				}
				if o.Controller && p.controller.kind == "" {
					p.controller = owner{o.Kind, o.Name}
				}
			}
		}
		for to, from := range map[*[]container][]*refContainer{&p.plain: from.Spec.Containers, &p.initContainers: from.Spec.InitContainers} {
			for _, c := range from {
				if c == nil {
					return nil // nothing can be added to it
				}
				one := container{name: c.Name, image: c.Image, restartPolicy: c.RestartPolicy, hasEnv: c.Env != nil, envFrom: len(c.EnvFrom),
					limits: amounts{c.Resources.Limits.CPU, c.Resources.Limits.Memory}, requests: amounts{c.Resources.Requests.CPU, c.Resources.Requests.Memory}}
				if tooLong(c.Name, one.limits.cpu, one.limits.memory, one.requests.cpu, one.requests.memory) {
					return nil
				}
				for n, e := range c.Env {
					if e.Name == "GOMEMLIMIT" && e.ValueFrom == nil && ownSize.MatchString(e.Value) {
						one.written = append(one.written, written{n, e.Value})
					}
					for i, name := range knobNames {
						if e.Name == name {
							one.knobs[i].set = true
							k := &one.knobs[i]
							k.literal = k.literal || e.ValueFrom == nil && e.Value != "off" && e.Value != ""
							k.reference = k.reference || e.ValueFrom != nil
						}
					}
				}
				for _, r := range c.ResizePolicy {
					one.resize = append(one.resize, resizing{r.ResourceName, r.RestartPolicy})
				}
				*to = append(*to, one)
			}
		}
		*to = p
	}
	return q
}

var ownSize = regexp.MustCompile(`^[0-9]+(MiB)?$`)

func refOurs(all map[string]string) map[string]string {
	var ours map[string]string
	for k, v := range all {
		of := []string{"inject", "gomaxprocs", "restart-on-resize", "added", "observed", "skipped"}
		if name, own := strings.CutPrefix(k, podpatch.Prefix); own && slices.Contains(of, name) || k == podid.HashLabel || k == podid.RolloutHashLabel || k == mirror {
			if ours == nil {
				ours = map[string]string{}
			}
			ours[k] = v
		}
	}
	return ours
}

// compare fails unless the scanner reads what encoding/json does. Of a text that is no
// JSON the scanner may read more, but not of one that an API server may have written.
func compare(t *testing.T, text []byte) {
	t.Helper()
	got, a := read(text)
	want := reference(text)
	if got != nil {
		for _, p := range []*pod{got.object, got.old} {
			if p != nil {
				p.size = 0
			}
		}
	}
	if (json.Valid(text) || want != nil) && !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v\nwant %+v\n%s", got, want, text)
	}
	if want != nil && a.uid != want.uid {
		t.Fatalf("uid %q, want %q", a.uid, want.uid)
	}
}

func TestRead(t *testing.T) {
	for name, text := range recorded(t) {
		compare(t, text)
		if q, _ := read(text); q == nil || q.object == nil || len(q.object.plain) == 0 {
			t.Errorf("%s cannot be read", name)
		}
		// Wherever it breaks off it cannot be read, and is answered by its uid.
		for end := range len(text) {
			if end > 3000 && end%97 > 0 {
				continue
			}
			q, a := read(text[:end])
			if q != nil || end > 300 && a.uid == "" {
				t.Fatalf("%s: %d bytes are read, uid %q", name, end, a.uid)
			}
		}
	}
	const pod = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","object":POD}}`
	long := strings.Repeat("x", 253)
	for _, text := range []string{
		`{"metadata":{"name":"a\u0062\"\\","labels":{"snug.dev/inject":"en\u0061bled","x":"\\"},"annotations":{"a":"\"}{","snug.dev/added":"é","b":null}}}`,
		` { "metadata" : { "labels" : { } , "annotations" : null } , "spec" : { "containers" : [ { "env" : [ ] } , { "env" : null } ] } } `,
		`{"metadata":{"ownerReferences":[{"kind":"a","controller":false},{"kind":"b","name":"c","controller":true},{"kind":"d","controller":true}]}}`,
		`{"metadata":{"ownerReferences":[null,{"kind":"b","controller":null}],"labels":{"a":1}}}`,
		`{"spec":{"containers":[{"env":[null,{"name":null},{"name":"GOMEMLIMIT","valueFrom":{"a":["]"]}}],"envFrom":[null,{}],"resizePolicy":[null]}]}}`,
		`{"spec":{"containers":[null]}}`, `{"spec":{"containers":{}}}`, `{"spec":[]}`, `{"spec":{"containers":[[]]}}`, `{"spec":{"restartPolicy":1e5}}`,
		`{"spec":{"resources":{"limits":{"cpu":"1","x":{"y":[1,2,{"z":"}"}]}},"requests":null}}}`, `{"spec":{"resources":{"limits":{"cpu":2}}}}`,
		`{"metadata":{"labels":{"snug.dev/x":"y","snug.dev/gomaxprocs":"a","pod-template-hash":"b"},"annotations":{"snug.dev/skipped":"c","snug.dev/skip":"d"}}}`,
		`{"metadata":{"name":"` + long + `"}}`, `{"metadata":{"name":"` + long + `a"}}`, `{"metadata":{"name":"` + long[1:] + `\u00e9"}}`,
		`{"metadata":{"ownerReferences":[{"name":"` + long + `a"}]}}`, `{"spec":{"initContainers":[{"name":"` + long + `a"}]}}`,
		`{"spec":{"containers":[{"image":"` + long + `a","resources":{"requests":{"cpu":"` + long + `"}}}]}}`,
		`{"spec":{"containers":[{"resources":{"requests":{"cpu":"` + long + `a"}}}]}}`, `{"spec":{"resources":{"limits":{"memory":"` + long + `a"}}}}`,
		`null`, `3`, `"x"`, `true`, `[]`, `{"a":-0.5e+3,"b":false,"c":{"d":[[[]]]}}`,
	} {
		compare(t, []byte(strings.Replace(pod, "POD", text, 1)))
	}
}
