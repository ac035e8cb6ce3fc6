// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// same fails unless all servers make the same pod from a question.
func same(servers []*server, question []byte) error {
	var first any
	for i, s := range servers {
		pod, err := patched(s, question)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if i == 0 {
			first = pod
		} else if !reflect.DeepEqual(first, pod) {
			a, _ := json.Marshal(first)
			b, _ := json.Marshal(pod)
			return fmt.Errorf("%s makes\n%s\nbut %s makes\n%s", servers[0].name, a, s.name, b)
		}
	}
	return nil
}

// patched returns the pod of a question after a server's patch, without empty values.
func patched(s *server, question []byte) (any, error) {
	text, err := s.ask(question)
	if err != nil {
		return nil, err
	}
	var q struct{ Request struct{ Object any } }
	var a struct {
		Response struct {
			Allowed bool
			Patch   []byte
		}
	}
	if err := errors.Join(json.Unmarshal(question, &q), json.Unmarshal(text, &a)); err != nil {
		return nil, err
	}
	if !a.Response.Allowed {
		return nil, fmt.Errorf("refused: %s", text)
	}
	var patch []struct {
		Op, Path string
		Value    any
	}
	if len(a.Response.Patch) > 0 {
		if err := json.Unmarshal(a.Response.Patch, &patch); err != nil {
			return nil, err
		}
	}
	pod := q.Request.Object
	for _, p := range patch {
		path := strings.Split(p.Path, "/")[1:]
		for i := range path {
			path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
		}
		if pod, err = change(pod, path, p.Op, p.Value); err != nil {
			return nil, fmt.Errorf("%s %s: %w", p.Op, p.Path, err)
		}
	}
	return withoutEmpty(pod), nil
}

func change(in any, path []string, op string, value any) (any, error) {
	last := len(path) == 1
	switch o := in.(type) {
	case map[string]any:
		switch {
		case last && op == "remove":
			delete(o, path[0])
		case last:
			o[path[0]] = value
		default:
			var err error
			if o[path[0]], err = change(o[path[0]], path[1:], op, value); err != nil {
				return nil, err
			}
		}
		return o, nil
	case []any:
		i := len(o)
		if path[0] != "-" {
			var err error
			if i, err = strconv.Atoi(path[0]); err != nil {
				return nil, err
			}
		}
		switch {
		case i > len(o) || !last && i == len(o):
			return nil, errors.New("no such element")
		case last && op == "add":
			return append(o[:i:i], append([]any{value}, o[i:]...)...), nil
		case last && op == "replace":
			o[i] = value
			return o, nil
		case last:
			return append(o[:i:i], o[i+1:]...), nil
		}
		var err error
		o[i], err = change(o[i], path[1:], op, value)
		return o, err
	}
	return nil, fmt.Errorf("%T has no %s", in, path[0])
}

// withoutEmpty removes null and empty values.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, each := range v {
			if v[k] = withoutEmpty(each); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return v
}
