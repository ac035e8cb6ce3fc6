// SPDX-License-Identifier: Apache-2.0

// Package tmpl fills in templates of Go's syntax: the part of text/template that snug's templates
// use. A program that calls text/template or html/template keeps every exported method of every
// type, because a template might call it; that is a tenth of snug. These templates read fields and
// call given functions, no methods.
package tmpl

import (
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"strings"
	"text/template/parse"
)

// HTML is text that is HTML already: it is written as it is.
type HTML string

// Funcs are functions of one argument or more, by the name that templates call them by.
type Funcs map[string]func(args ...any) (any, error)

// Templates are parsed templates by name: those defined in files, and the files themselves by their
// base names.
type Templates struct {
	trees  map[string]*parse.Tree
	funcs  Funcs
	escape bool
}

// or returns the first argument that is true, or the last.
func or(args ...any) (any, error) {
	for _, a := range args {
		if truth(reflect.ValueOf(a)) {
			return a, nil
		}
	}
	return args[len(args)-1], nil
}

// ints returns two arguments, which must be of type int.
func ints(args []any) (a, b int, err error) {
	if len(args) == 2 {
		a, isA := args[0].(int)
		b, isB := args[1].(int)
		if isA && isB {
			return a, b, nil
		}
	}
	return 0, 0, fmt.Errorf("want two whole numbers: %v", args)
}

// builtins are the functions that all templates have.
var builtins = Funcs{
	"not": func(args ...any) (any, error) { return !truth(reflect.ValueOf(args[0])), nil },
	"or":  or,
	"len": func(args ...any) (any, error) {
		if v := reflect.ValueOf(args[0]); v.Kind() == reflect.Slice || v.Kind() == reflect.String {
			return v.Len(), nil
		}
		return nil, fmt.Errorf("%T has no length", args[0])
	},
	"eq": func(args ...any) (any, error) {
		a, b, err := ints(args)
		return a == b, err
	},
	"gt": func(args ...any) (any, error) {
		a, b, err := ints(args)
		return a > b, err
	},
	"index": func(args ...any) (any, error) {
		v := indirect(reflect.ValueOf(args[0]))
		for _, arg := range args[1:] {
			n, ok := arg.(int)
			if v.Kind() != reflect.Slice && v.Kind() != reflect.Array || !ok || n < 0 || n >= v.Len() {
				return nil, fmt.Errorf("no element %v of %v", arg, v.Kind())
			}
			v = indirect(v.Index(n))
		}
		return v.Interface(), nil
	},
}

// Parse parses the files of fsys that match a pattern. With escape, values other than HTML are
// escaped for the text of an HTML element or a quoted attribute; the templates must not put them
// anywhere else.
func Parse(fsys fs.FS, pattern string, escape bool, funcs Funcs) (*Templates, error) {
	files, err := fs.Glob(fsys, pattern)
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no template matches %s", pattern))
	}
	t := &Templates{trees: map[string]*parse.Tree{}, funcs: maps.Clone(builtins), escape: escape}
	maps.Copy(t.funcs, funcs)
	known := map[string]any{}
	for name := range t.funcs {
		known[name] = true
	}
	for _, name := range files {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		trees, err := parse.Parse(path.Base(name), string(text), "", "", known)
		if err != nil {
			return nil, err
		}
		for name, tree := range trees {
			if t.trees[name] == nil || !parse.IsEmptyTree(tree.Root) {
				t.trees[name] = tree
			}
		}
	}
	return t, nil
}

// Must returns the templates, or panics: a program's own templates are found wrong by every test.
func Must(t *Templates, err error) *Templates {
	if err != nil {
		panic(err)
	}
	return t
}

// Write fills in the template of a name with data and writes it. What was written before an error
// is not complete.
func (t *Templates) Write(w io.Writer, name string, data any) error {
	tree := t.trees[name]
	if tree == nil {
		return fmt.Errorf("there is no template %q", name)
	}
	v := reflect.ValueOf(data)
	x := &run{templates: t, tree: tree, vars: []variable{{"$", v}}}
	if err := x.node(tree.Root, v); err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	_, err := io.WriteString(w, x.out.String())
	return err
}

type variable struct {
	name  string
	value reflect.Value
}

// run is one template that is being filled in.
type run struct {
	templates *Templates
	tree      *parse.Tree
	vars      []variable // the last of a name counts
	out       strings.Builder
	depth     int
}

// maxDepth bounds templates in templates: one that uses itself must end.
const maxDepth = 100

func (x *run) node(n parse.Node, dot reflect.Value) error {
	switch n := n.(type) {
	case *parse.TextNode:
		x.out.Write(n.Text)
	case *parse.CommentNode:
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, one := range n.Nodes {
			if err := x.node(one, dot); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		v, err := x.pipe(n.Pipe, dot)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		x.print(v)
	case *parse.IfNode:
		return x.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		return x.branch(&n.BranchNode, dot, true)
	case *parse.RangeNode:
		return x.each(n, dot)
	case *parse.TemplateNode:
		return x.template(n, dot)
	default:
		return fmt.Errorf("%s is not supported", n)
	}
	return nil
}

// branch carries out an if, or a with, which changes dot.
func (x *run) branch(n *parse.BranchNode, dot reflect.Value, with bool) error {
	mark := len(x.vars)
	defer func() { x.vars = x.vars[:mark] }()
	v, err := x.pipe(n.Pipe, dot)
	switch {
	case err != nil:
		return err
	case !truth(v):
		return x.node(n.ElseList, dot)
	case with:
		dot = v
	}
	return x.node(n.List, dot)
}

func (x *run) each(n *parse.RangeNode, dot reflect.Value) error {
	mark := len(x.vars)
	defer func() { x.vars = x.vars[:mark] }()
	v, err := x.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	v = indirect(v)
	if v.IsValid() && v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return fmt.Errorf("range over %v", v.Kind())
	}
	if !v.IsValid() || v.Len() == 0 {
		return x.node(n.ElseList, dot)
	}
	x.vars = x.vars[:mark] // those of the pipe are set for each element
	for i := range v.Len() {
		one := v.Index(i)
		switch decl := n.Pipe.Decl; len(decl) {
		case 1:
			x.vars = append(x.vars, variable{decl[0].Ident[0], one})
		case 2:
			x.vars = append(x.vars, variable{decl[0].Ident[0], reflect.ValueOf(i)}, variable{decl[1].Ident[0], one})
		}
		if err := x.node(n.List, one); err != nil {
			return err
		}
		x.vars = x.vars[:mark]
	}
	return nil
}

func (x *run) template(n *parse.TemplateNode, dot reflect.Value) error {
	tree := x.templates.trees[n.Name]
	if tree == nil {
		return fmt.Errorf("there is no template %q", n.Name)
	}
	if x.depth++; x.depth > maxDepth {
		return fmt.Errorf("template %q is too deep", n.Name)
	}
	defer func() { x.depth-- }()
	var data reflect.Value
	if n.Pipe != nil {
		var err error
		if data, err = x.pipe(n.Pipe, dot); err != nil {
			return err
		}
	}
	vars := x.vars
	defer func() { x.vars = vars }()
	x.vars = []variable{{"$", data}}
	return x.node(tree.Root, data)
}

// pipe returns the value of a pipeline and sets the variable that it declares.
func (x *run) pipe(p *parse.PipeNode, dot reflect.Value) (v reflect.Value, err error) {
	if p.IsAssign {
		return v, fmt.Errorf("%s assigns, which is not supported", p)
	}
	for i, c := range p.Cmds {
		var last []any
		if i > 0 {
			last = []any{value(v)}
		}
		if v, err = x.command(c, dot, last); err != nil {
			return v, err
		}
	}
	if len(p.Decl) == 1 {
		x.vars = append(x.vars, variable{p.Decl[0].Ident[0], v})
	}
	return v, nil
}

// command returns the value of one command; last is the value before a "|".
func (x *run) command(c *parse.CommandNode, dot reflect.Value, last []any) (reflect.Value, error) {
	f, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(c.Args) > 1 || last != nil {
			return reflect.Value{}, fmt.Errorf("%s is no function", c.Args[0])
		}
		return x.operand(c.Args[0], dot)
	}
	var args []any
	for _, a := range c.Args[1:] {
		v, err := x.operand(a, dot)
		if err != nil {
			return v, err
		}
		args = append(args, value(v))
	}
	if args = append(args, last...); len(args) == 0 {
		return reflect.Value{}, fmt.Errorf("%s has no argument", f.Ident)
	}
	result, err := x.templates.funcs[f.Ident](args...)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("%s: %w", f.Ident, err)
	}
	return reflect.ValueOf(result), nil
}

func (x *run) operand(n parse.Node, dot reflect.Value) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(x.vars) - 1; i >= 0; i-- {
			if x.vars[i].name == n.Ident[0] {
				return fields(x.vars[i].value, n.Ident[1:])
			}
		}
		return reflect.Value{}, fmt.Errorf("there is no variable %s", n.Ident[0])
	case *parse.ChainNode:
		v, err := x.operand(n.Node, dot)
		if err != nil {
			return v, err
		}
		return fields(v, n.Field)
	case *parse.PipeNode:
		return x.pipe(n, dot)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NumberNode:
		if !n.IsInt {
			return reflect.Value{}, fmt.Errorf("%s is not supported: no whole number", n)
		}
		return reflect.ValueOf(int(n.Int64)), nil
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), nil
	}
	return reflect.Value{}, fmt.Errorf("%s is not supported", n)
}

// fields follows the names of fields.
func fields(v reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		v = indirect(v)
		if v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String {
			v = v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key())) // invalid = nil, as in Go's templates
			continue
		}
		if v.Kind() != reflect.Struct {
			return v, fmt.Errorf("no field %s", name)
		}
		f := v.FieldByName(name)
		if !f.IsValid() || !f.CanInterface() {
			return f, fmt.Errorf("%v has no field %s", v.Type(), name)
		}
		v = f
	}
	return v, nil
}

// indirect follows pointers and interfaces; the zero Value = nil.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

func value(v reflect.Value) any {
	if v = indirect(v); !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// truth reports whether a value is not the empty one of its type. A struct is true.
func truth(v reflect.Value) bool {
	if v = indirect(v); !v.IsValid() {
		return false
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

// print writes a value.
func (x *run) print(v reflect.Value) {
	got := value(v)
	if got == nil {
		return
	}
	if text, ok := got.(HTML); ok {
		x.out.WriteString(string(text))
		return
	}
	text := fmt.Sprint(got)
	if x.templates.escape {
		text = html.EscapeString(text)
	}
	x.out.WriteString(text)
}
