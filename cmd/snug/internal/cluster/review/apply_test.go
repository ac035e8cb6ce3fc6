// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// apply applies a JSON Patch as an API server does: strictly.
func apply(object any, patch []byte) (any, error) {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return nil, err
	}
	for _, op := range ops {
		parts := strings.Split(op.Path, "/")
		if parts[0] != "" || len(parts) < 2 {
			return nil, fmt.Errorf("path %s", op.Path)
		}
		for i := range parts {
			parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
		}
		var err error
		if object, err = change(object, parts[1:], op.Op, op.Value); err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
	}
	return object, nil
}

func change(in any, path []string, op string, value any) (any, error) {
	last := len(path) == 1
	switch o := in.(type) {
	case map[string]any:
		old, ok := o[path[0]]
		switch {
		case last && op == "add":
			o[path[0]] = value
		case !ok:
			return nil, fmt.Errorf("no member %s", path[0])
		case last && op == "replace":
			o[path[0]] = value
		case last && op == "remove":
			delete(o, path[0])
		default:
			var err error
			if o[path[0]], err = change(old, path[1:], op, value); err != nil {
				return nil, err
			}
		}
		return o, nil
	case []any:
		if last && path[0] == "-" && op == "add" {
			return append(o, value), nil
		}
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(o) || last {
			return nil, fmt.Errorf("no element %s", path[0])
		}
		o[i], err = change(o[i], path[1:], op, value)
		return o, err
	}
	return nil, fmt.Errorf("%T has no %s", in, path[0])
}
