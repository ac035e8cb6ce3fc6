// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestTryNoRoom: a pod without room for the annotation is given nothing, as by the policies, whose bound
// fit.yaml.tmpl has, and by the webhook.
func TestTryNoRoom(t *testing.T) {
	c, err := policy.Parse(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(policy.Render(&c), fmt.Sprintf("\n      %d - object.metadata.?annotations", policy.MaxNoted)) {
		t.Fatal("the policies have another bound")
	}
	const given = "a GOMEMLIMIT=460MiB (pod-memory-share)"
	for name, c := range map[string]struct {
		notes map[string]string
		env   string
		size  int // of all annotations, with the note
		gives bool
	}{
		"room":              {nil, "", policy.MaxNoted - 1, true},
		"no room":           {nil, "", policy.MaxNoted, false},
		"far too much":      {nil, "", pod.MaxAnnotations + 100, false},
		"an old note":       {map[string]string{policy.AddedAnnotation: strings.Repeat("x", 999), policy.SkippedAnnotation: "y"}, "", policy.MaxNoted - 1, true},
		"copied, and room":  {map[string]string{policy.AddedAnnotation: "a GOMEMLIMIT=9MiB (pod-memory-share)"}, `,"env":[{"name":"GOMEMLIMIT","value":"9MiB"}]`, policy.MaxNoted - 1, true},
		"copied, and no":    {map[string]string{policy.AddedAnnotation: "a GOMEMLIMIT=9MiB (pod-memory-share)"}, `,"env":[{"name":"GOMEMLIMIT","value":"9MiB"}]`, policy.MaxNoted, false},
		"nothing to be had": {nil, `,"env":[{"name":"GOMEMLIMIT","value":"9MiB"}]`, policy.MaxNoted, false},
	} {
		notes := map[string]string{"x": strings.Repeat("y", c.size-len(given)-len("x"))}
		for key, text := range c.notes {
			notes[key] = text
		}
		text, err := json.Marshal(notes)
		if err != nil {
			t.Fatal(err)
		}
		manifest := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"snug.dev/inject":"enabled"},"annotations":` + string(text) +
			`},"spec":{"containers":[{"name":"a","image":"x","resources":{"limits":{"memory":"512Mi"}}` + c.env + `}]}}`
		var out bytes.Buffer
		u := &ui.UI{In: strings.NewReader(manifest), Out: &out, Err: &out, JSON: true}
		cfg, _ := policy.Parse(strings.NewReader(""))
		if err := tryPolicy(u, &cfg, nil, []string{"-"}); err != nil {
			t.Fatal(err)
		}
		var d finding.Given
		if err := json.Unmarshal(out.Bytes(), &d); err != nil || len(d.Containers) != 1 {
			t.Fatalf("%s: %v, %s", name, err, out.Bytes())
		}
		got := d.Containers[0]
		why := got.Reasons[len(got.Reasons)-1].Reason
		if len(got.Env) > 0 != c.gives || !c.gives && c.env == "" && why != "pod-no-room" {
			t.Errorf("%s: %+v", name, got)
		}
		// The webhook's bound is that of the API server, which is 144 bytes larger.
		if c.size != policy.MaxNoted && c.notes == nil {
			answer, _ := (&review.Reviewer{Config: &cfg}).Fit([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"n","resource":{"version":"v1","resource":"pods"},"object":`+manifest+`}}`), review.ByPod)
			var a struct{ Response struct{ Patch string } }
			if err := json.Unmarshal(answer, &a); err != nil {
				t.Fatal(err)
			}
			patch, err := base64.StdEncoding.DecodeString(a.Response.Patch)
			if err != nil || strings.Contains(string(patch), "460MiB") != c.gives {
				t.Errorf("%s: the webhook patches %s, %v", name, patch, err)
			}
		}
	}
}
