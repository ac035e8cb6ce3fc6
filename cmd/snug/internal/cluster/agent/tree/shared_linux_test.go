// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"io/fs"
	"testing"
)

// TestShared: a file of the tree is open once, until its last user closes it or its group is gone.
func TestShared(t *testing.T) {
	root := tree(t, "kubepods")
	const name = cgroupDir + "/kubepods/cpu.max"
	write(t, root, "kubepods/cpu.max", "100000 100000\n")
	n, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	open := func() *sharer {
		f, err := n.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return f.(*sharer)
	}
	a, b := open(), open()
	if a.of != b.of || len(n.files) != 1 {
		t.Fatalf("%d files", len(n.files))
	}
	says := func(f *sharer, want string) {
		t.Helper()
		buf := make([]byte, 512)
		if got, _ := f.ReadAt(buf, 0); string(buf[:got]) != want {
			t.Errorf("%q, want %q", buf[:got], want)
		}
	}
	one, two := "100000 100000\n", "200000 100000\n"
	says(a, one)
	write(t, root, "kubepods/cpu.max", two)
	says(b, two)
	says(a, two)
	write(t, root, "kubepods/cpu.max", one)
	if got, err := fs.ReadFile(n, name); string(got) != one || err != nil || a.of.users != 2 {
		t.Errorf("%q, %v, %d users", got, err, a.of.users)
	}
	// The kernel returns an error for a file of a removed group.
	a.of.file.Close()
	if _, err := a.ReadAt(make([]byte, 8), 0); err == nil {
		t.Error("no error")
	}
	c := open()
	if c.of == b.of {
		t.Error("the file of a removed group is shared")
	}
	says(c, one)
	b.Close()
	a.Close()
	if len(n.files) != 1 {
		t.Errorf("%d files", len(n.files))
	}
	c.Close()
	if _, err := c.ReadAt(nil, 0); err == nil || c.Close() == nil || len(n.files) != 0 {
		t.Errorf("closed: %v, %d files", err, len(n.files))
	}
}
