// SPDX-License-Identifier: Apache-2.0

// Command cel evaluates variables of an admission policy as an API server does: with its own environment of CEL. It
// reads lines of JSON. The first has the variables in their order; each other one is an object, and is answered by the
// value of the last variable.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

func main() {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	extended, err := base.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: []cel.EnvOption{
		cel.Variable("object", cel.DynType), cel.Variable("variables", cel.DynType), cel.Variable("namespaceObject", cel.DynType),
	}})
	check(err)
	env, err := extended.Env(environment.StoredExpressions)
	check(err)
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	var variables []struct{ Name, Expression string }
	check(in.Decode(&variables))
	programs := make([]cel.Program, len(variables))
	for i, v := range variables {
		ast, issues := env.Compile(v.Expression)
		if issues.Err() != nil {
			log.Fatalf("%s: %v", v.Name, issues.Err())
		}
		programs[i], err = env.Program(ast)
		check(err)
	}
	out := bufio.NewWriter(os.Stdout)
	for in.More() {
		var object map[string]any
		check(in.Decode(&object))
		values := map[string]any{}
		for i, p := range programs {
			v, _, err := p.Eval(map[string]any{"object": object, "variables": values, "namespaceObject": map[string]any{}})
			if err != nil {
				log.Fatalf("%s: %v", variables[i].Name, err)
			}
			values[variables[i].Name] = v
			if i < len(programs)-1 {
				continue
			}
			text, err := v.ConvertToNative(reflect.TypeFor[*structpb.Value]())
			check(err)
			line, err := text.(*structpb.Value).MarshalJSON()
			check(err)
			fmt.Fprintf(out, "%s\n", line)
		}
	}
	check(out.Flush())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
