// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestDigestOf checks the forms of a status's imageID.
func TestDigestOf(t *testing.T) {
	for imageID, want := range map[string]string{
		"docker.io/library/nginx@sha256:" + sum:      "sha256:" + sum,
		"docker-pullable://nginx@sha256:" + sum:      "sha256:" + sum,
		"registry.example:5000/a/b:v1@sha256:" + sum: "sha256:" + sum,
		"sha256:" + sum:                        "sha256:" + sum,
		"docker://sha256:" + sum:               "",
		"docker.io/library/nginx:1.27":         "",
		"nginx@sha512:" + sum + sum:            "",
		"nginx@sha256:" + sum[1:]:              "",
		"nginx@sha256:" + sum + "0":            "",
		"nginx@sha256:" + strings.ToUpper(sum): "",
		"nginx@sha256:" + sum[1:] + "\n":       "",
		"sha256:" + sum + "@":                  "",
		"":                                     "",
		"x@y@sha256:" + sum:                    "sha256:" + sum,
		"docker.io/library/nginx@sha256:" + sum + "@other": "",
	} {
		if got := digestOf(imageID); got != want {
			t.Errorf("%q: %q, want %q", imageID, got, want)
		}
	}
}

// TestKnown: the workload comes from the owners, images from the spec, digests from the status.
func TestKnown(t *testing.T) {
	const (
		spec   = `"spec":{"containers":[{"name":"app","image":"shop/cart:1","env":[{"name":"A"},{"name":"GOMAXPROCS","value":"2"}]},{"name":"new","image":"x"}],"initContainers":[{"name":"proxy","image":"mesh:2","restartPolicy":"Always","envFrom":[{"configMapRef":{"name":"c"}}]}],"ephemeralContainers":[{"name":"debug","image":"busybox"}]}`
		status = `"status":{"containerStatuses":[{"name":"app","containerID":"containerd://a","image":"docker.io/shop/cart:1","imageID":"docker.io/shop/cart@sha256:` + sum + `","state":{"running":{}}},{"name":"new","state":{"waiting":{}}}],` +
			`"initContainerStatuses":[{"name":"proxy","containerID":"cri-o://b","imageID":"none"}],"ephemeralContainerStatuses":[{"name":"debug","containerID":"docker://c"},{"name":"bad","containerID":"c2"},{"name":"bad","containerID":"x://"}]}`
	)
	for _, c := range []struct{ name, metadata, rest, want string }{
		{"a Deployment", `"namespace":"shop","name":"cart-5d8f-x","generateName":"cart-5d8f-","labels":{"pod-template-hash":"5d8f","a":"b"},"ownerReferences":[{"kind":"ConfigMap","name":"c"},{"kind":"ReplicaSet","name":"cart-5d8f","controller":true}]`, spec + "," + status, "shop cart-5d8f-x Deployment/cart"},
		{"a Rollout", `"namespace":"shop","name":"cart-5d8f-x","generateName":"cart-5d8f-","labels":{"rollouts-pod-template-hash":"5d8f"},"ownerReferences":[{"kind":"ReplicaSet","name":"cart-5d8f","controller":true}]`, spec + "," + status, "shop cart-5d8f-x Rollout/cart"},
		{"a CronJob", `"namespace":"shop","name":"b-1-x","ownerReferences":[{"kind":"Job","name":"b-29384756","controller":true},{"kind":"ReplicaSet","name":"other","controller":true}]`, spec + "," + status, "shop b-1-x CronJob/b"},
		{"no owner", `"namespace":"shop","name":"one","ownerReferences":[{"kind":"Pod","name":"x"}]`, spec + "," + status, "shop one Pod/one"},
		{"no owner, with a generated name", `"namespace":"shop","name":"one-abcde","generateName":"one-"`, spec + "," + status, "shop one-abcde Pod/one"},
		{"an owner without an end", `"name":"p","ownerReferences":[{"kind":"` + strings.Repeat("K", 600) + `","name":"x","controller":true}]`, spec + "," + status, " p "},
		{"a name without an end", `"namespace":"n","name":"` + strings.Repeat("p", 300) + `"`, spec + "," + status, "n  Pod/" + strings.Repeat("p", 300)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p apiPod
			if err := json.Unmarshal([]byte(`{"metadata":{`+c.metadata+`},`+c.rest+`}`), &p, lenient); err != nil {
				t.Fatal(err)
			}
			k := p.known()
			if got := fmt.Sprint(k.namespace, " ", k.name, " ", k.workload); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			want := map[string]knownContainer{"a": {"app", "shop/cart:1", "sha256:" + sum, procsSet}, "b": {"proxy", "mesh:2", "", procsUnknown}, "c": {"debug", "busybox", "", procsUnset}}
			if fmt.Sprint(k.containers) != fmt.Sprint(want) {
				t.Errorf("%v", k.containers)
			}
		})
	}
}

// TestKnownHostile checks pods with missing, and with too many or too long, parts.
func TestKnownHostile(t *testing.T) {
	var statuses []string
	for i := range 5000 {
		statuses = append(statuses, fmt.Sprintf(`{"name":"c","containerID":"x://%d"}`, i))
	}
	for _, c := range []struct {
		name, text string
		containers int
	}{
		{"nothing", `{}`, 0},
		{"nulls", `{"metadata":null,"spec":null,"status":null}`, 0},
		{"null lists", `{"metadata":{"labels":null,"annotations":null,"ownerReferences":null},"spec":{"containers":null},"status":{"containerStatuses":null}}`, 0},
		{"a status without a spec", `{"status":{"containerStatuses":[{"name":"a","containerID":"x://1","imageID":"sha256:1"}]}}`, 1},
		{"an image without an end", `{"spec":{"containers":[{"name":"a","image":"` + strings.Repeat("i", 1000) + `"}]},"status":{"containerStatuses":[{"name":"a","containerID":"x://1"}]}}`, 1},
		{"an id without an end", `{"status":{"containerStatuses":[{"name":"a","containerID":"x://` + strings.Repeat("1", 1000) + `"}]}}`, 0},
		{"too many", `{"status":{"containerStatuses":[` + strings.Join(statuses, ",") + `]}}`, maxContainers},
	} {
		var p apiPod
		if err := json.Unmarshal([]byte(c.text), &p, lenient); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		k := p.known()
		if len(k.containers) != c.containers {
			t.Errorf("%s: %d containers", c.name, len(k.containers))
		}
		for id, one := range k.containers {
			if one.image != "" || one.digest != "" || id == "" {
				t.Errorf("%s: %+v", c.name, one)
			}
		}
	}
}

// TestStaticClaimed: a second pod that claims a manifest gets it only after the first is gone.
func TestStaticClaimed(t *testing.T) {
	n := NewPods(nil, "", nil)
	add := func(uid, namespace, hash, mirror string) {
		var p apiPod
		p.Metadata = &pod.Metadata{UID: uid, Namespace: namespace}
		p.Metadata.Annotations.Of = map[string]string{pod.HashAnnotation: hash, pod.MirrorAnnotation: mirror}
		n.add(&p)
	}
	says := func(want string) {
		t.Helper()
		if c, _ := n.Lookup(etcdSum, ""); c.Namespace != want {
			t.Errorf("%q, want %q", c.Namespace, want)
		}
	}
	add("3", "evil", etcdSum, "") // no mirror
	add("4", "evil", etcdSum, "mirror")
	says("")
	n.remove("3")
	n.remove("4")
	add("1", "kube-system", etcdSum, etcdSum)
	add("2", "evil", etcdSum, etcdSum)
	says("kube-system")
	add("1", "kube-system", etcdSum, etcdSum) // it changed
	says("kube-system")
	n.remove("2")
	says("kube-system")
	n.remove("1")
	says("")

	add("1", "kube-system", etcdSum, etcdSum)
	for _, namespace := range []string{"2", "3", "4"} {
		add(namespace, namespace, etcdSum, etcdSum)
	}
	add("1", "kube-system", etcdSum, etcdSum) // it changed
	says("kube-system")
	n.remove("1")
	says("2")
	add("1", "kube-system", etcdSum, etcdSum) // now it is the last
	add("2", "2", "", "")                     // and the first is no mirror any more
	says("3")
	n.remove("4")
	says("3")
	n.remove("3")
	says("kube-system")
	n.remove("1")
	n.remove("2")
	says("")
	if len(n.pods)+len(n.static) > 0 {
		t.Errorf("%v %v", n.pods, n.static)
	}
}

// TestReadSmall: of pods of a megabyte little is kept, and only one is in memory at a time.
func TestReadSmall(t *testing.T) {
	const pods, each = 100, 1 << 20
	one := func(i int) io.Reader {
		return strings.NewReader(fmt.Sprintf(`{"metadata":{"uid":"%d","annotations":{"a":"%s"}},"spec":{"containers":[{"name":"c","image":"i","command":["%s"]}]}},`, i, strings.Repeat("x", each/2), strings.Repeat("y", each/2)))
	}
	parts := []io.Reader{strings.NewReader(`{"items":[`)}
	for i := range pods {
		parts = append(parts, one(i))
	}
	parts = append(parts, strings.NewReader(`{"metadata":{"uid":"last"}}],"metadata":{"resourceVersion":"3"}}`))
	n := NewPods(nil, "", nil)
	before := heap()
	if version, err := n.read(io.MultiReader(parts...)); err != nil || version != "3" || len(n.pods) != pods+1 {
		t.Fatalf("%q, %v, %d pods", version, err, len(n.pods))
	}
	clear(parts)
	if grown := int64(heap()) - int64(before); grown > each {
		t.Errorf("%d bytes are held", grown)
	}
	runtime.KeepAlive(n)
}

// heap returns the live heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
