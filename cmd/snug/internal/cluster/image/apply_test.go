// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/image"
)

// tree is a file system to which layers are applied one by one, the lowest first, as container
// runtimes do.
type tree struct {
	kids map[string]*tree // nil = not a directory
	text string           // as in file
}

func (t *tree) child(name string, file *tree) { t.kids[name] = file }

// dir returns a directory, and makes it if needed.
func (t *tree) dir(name string) *tree {
	for _, part := range strings.Split(name, "/") {
		if part == "" {
			continue
		}
		if t.kids[part] == nil || t.kids[part].kids == nil {
			t.child(part, &tree{kids: map[string]*tree{}})
		}
		t = t.kids[part]
	}
	return t
}

// at returns the file at a path, without following links.
func (t *tree) at(name string) *tree {
	for _, part := range strings.Split(name, "/") {
		if t == nil || t.kids == nil {
			return nil
		}
		t = t.kids[part]
	}
	return t
}

func (t *tree) apply(layer []file) {
	for _, f := range layer {
		dir, base := path.Split(f.name)
		if gone, ok := strings.CutPrefix(base, ".wh."); ok {
			if d := t.dir(dir); gone == ".wh..opq" {
				clear(d.kids)
			} else {
				delete(d.kids, gone)
			}
		}
	}
	for _, f := range layer {
		dir, base := path.Split(f.name)
		if strings.HasPrefix(base, ".wh.") {
			continue
		}
		file := &tree{text: f.text}
		if to, ok := strings.CutPrefix(f.text, "=>"); ok {
			if file = t.at(to); file == nil || file.kids != nil {
				delete(t.dir(dir).kids, base)
				continue
			}
		}
		t.dir(dir).child(base, file)
	}
}

// open returns the text of the file at a path; "" = none.
func (t *tree) open(name string) string {
	at := ""
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "" {
			continue
		}
		if part == ".." {
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}
		here := path.Join(at, part)
		f := t.at(here)
		if f == nil {
			return ""
		}
		to, link := strings.CutPrefix(f.text, "->")
		switch {
		case f.kids != nil:
			at = here
		case link:
			if links++; links > 40 {
				return ""
			}
			if path.IsAbs(to) {
				at = ""
			}
			rest = append(strings.Split(to, "/"), rest...)
		case len(rest) > 0:
			return ""
		default:
			return f.text
		}
	}
	return ""
}

// TestAsApplied: the program is the same as after applying all layers, although only the
// topmost are read.
func TestAsApplied(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = string("abc"[r.IntN(3)])
		}
		return path.Join(parts...)
	}
	texts := 0
	// In a layer, names are unique, and no file is a directory of another.
	layer := func(all *tree) []file {
		var files []file
		used := map[string]bool{} // directories, and files: true
		add := func(at, text string) {
			leaf, removal := at, strings.Contains(at, ".wh.")
			if removal {
				leaf = path.Dir(at)
			}
			for p := leaf; p != "."; p = path.Dir(p) {
				if is, ok := used[p]; ok && (is || p == leaf && !removal) {
					return
				}
			}
			for p := leaf; p != "."; p = path.Dir(p) {
				used[p] = false
			}
			if !removal {
				used[leaf] = true
			}
			files = append(files, file{at, text})
		}
		for range 1 + r.IntN(6) {
			at := name()
			texts++
			switch r.IntN(8) {
			case 0:
				dir, base := path.Split(at)
				add(dir+".wh."+base, "")
			case 1:
				add(path.Join(path.Dir(at), ".wh..wh..opq"), "")
			case 2, 3:
				to := name()
				switch r.IntN(3) {
				case 0:
					to = "/" + to
				case 1:
					to = "../" + to
				}
				add(at, "->"+to)
			case 4:
				// A hard link to a file of this layer.
				for _, f := range files {
					if !strings.Contains(f.name, ".wh.") {
						add(at, "=>"+f.name)
						break
					}
				}
			default:
				add(at, fmt.Sprint("text", texts))
			}
		}
		all.apply(files)
		return files
	}
	there := 0
	for round := range 500 {
		all := &tree{kids: map[string]*tree{}}
		var layers [][]file
		var blobs [][]byte
		for range 1 + r.IntN(4) {
			layers = append(layers, layer(all))
			blobs = append(blobs, archive(t, layers[len(layers)-1]...))
		}
		at := name()
		if files := layers[r.IntN(len(layers))]; len(files) > 0 && r.IntN(4) > 0 {
			at = strings.Replace(files[len(files)-1].name, ".wh.", "", 1)
		}
		text := archive(t, layout(`{"config":{"Entrypoint":["/`+at+`"]}}`, blobs...)...)
		var got bytes.Buffer
		_, err := image.ProgramIn(text, &got)
		want := all.open(at)
		if want != "" {
			there++
		}
		if got.String() != want || (err == nil) != (want != "") {
			t.Fatalf("round %d, %s: %q, %v; want %q\n%q", round, at, got.String(), err, want, layers)
		}
	}
	if there < 100 {
		t.Errorf("only %d have a program", there)
	}
}
