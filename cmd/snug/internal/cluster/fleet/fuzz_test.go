// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// answering is a server that gives the same answer to all.
type answering struct {
	status int
	text   []byte
}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Body: io.NopCloser(bytes.NewReader(a.text))}, nil
}

// FuzzAnswer: an answer of an agent is summed up, one of a Prometheus has no number that cannot be one, or it is an error.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"snug":"v1","kind":"agent","containers":[{"namespace":"a","workload":"Deployment/b","processes":[{"pid":1}]}]}`))
	f.Add(200, []byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"namespace":"a"},"value":[1,"NaN"]}]}}`))
	f.Add(200, []byte(`{"status":"error","error":"\u001b[31m"}`))
	f.Add(403, []byte(`{"message":"no"}`))
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		client := &http.Client{Transport: answering{200 + status&255, text}}
		var sum Sum
		answer := Answer[finding.Node]{}
		said, err := get(context.Background(), client, "http://agent/findings")
		if err == nil {
			answer.Said, err = readNode(said)
		}
		if (answer.Said == nil) != (err != nil) {
			t.Errorf("%+v, %v", answer.Said, err)
		}
		sum.Add(answer)
		p, _ := NewPrometheus("http://prometheus")
		p.client = client
		all, err := p.query(context.Background(), "up")
		for _, s := range all {
			if err != nil || !(s.Value >= 0 && s.Value <= 1e18) {
				t.Errorf("%v, %v", s.Value, err)
			}
			keyOfSeries(&s)
		}
	})
}
