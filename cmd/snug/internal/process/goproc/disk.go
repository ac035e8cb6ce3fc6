// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// disk keeps images in files of a few hundred bytes:
//
//	snug/programs-ID/KEY.json      ID: from the build ID of the snug that wrote it; KEY: from the program's key
//
// A new build of snug may search differently, so it starts with an empty directory and removes
// those of other builds. A file with any defect is ignored.
type disk struct{ dir string }

// key identifies an image.
type key struct {
	// buildID ends in a hash of the program's content. Stripping keeps it but
	// changes the size.
	buildID string
	size    int64
	// uid is the user of the processes; see program.
	uid int
}

const (
	// diskFormat changes when the meaning of the stored data changes.
	diskFormat  = 1
	maxDiskFile = 16 << 10
	// maxDiskFiles is far more than the Go programs on a machine.
	maxDiskFiles = 2000
	folderPrefix = "programs-"
)

// stored is the content of a file. It repeats the key.
type stored struct {
	Format  int    `json:"format"`
	BuildID string `json:"build_id"`
	Size    int64  `json:"size"`
	UID     int    `json:"uid"`
	image
}

// self returns the build ID of this program; "" = none.
var self = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	return goBuildID(f)
})

// openDisk returns nil if there is no usable directory.
func openDisk(dir string) *disk {
	if dir == "" || self() == "" || !mine(dir) {
		return nil
	}
	return &disk{filepath.Join(dir, "snug", folderPrefix+hash(self())[:16])}
}

// hash returns the 128 bits of FNV-1a as 32 hexadecimal digits, for names. Programs with the same
// hash replace each other's file and never read it, because a file repeats its key. A directory
// does not: it has the first 64 bits, and two builds of snug share one by a chance of 1 in 2^64.
func hash(text string) string {
	h := fnv.New128a()
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// file returns the name of a program's file, or "" for a program that must not be kept: it has
// no build ID, or one that a build system chose and that other programs may share. Build IDs
// made by Go have four parts.
func (d *disk) file(k key) string {
	if d == nil || strings.Count(k.buildID, "/") != 3 || len(k.buildID) < 40 || len(k.buildID) > 512 {
		return ""
	}
	return filepath.Join(d.dir, hash(fmt.Sprintf("%d %d %s", k.size, k.uid, k.buildID))+".json")
}

// load returns nil if there is no usable file.
func (d *disk) load(k key) *image {
	path := d.file(k)
	if path == "" {
		return nil
	}
	f, err := open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxDiskFile))
	if err != nil {
		return nil
	}
	return parseStored(text, k)
}

func parseStored(text []byte, k key) *image {
	var s stored
	if json.Unmarshal(text, &s) != nil || s.Format != diskFormat || s.BuildID != k.buildID || s.Size != k.size ||
		s.UID != k.uid {
		return nil
	}
	if !wellFormed(&s.image) {
		return nil
	}
	return &s.image
}

// wellFormed reports whether all fields of each struct have different offsets.
func wellFormed(im *image) bool {
	l, s := &im.Layout, &im.Sched
	for _, fields := range [][]int64{
		{l.GCPercent, l.MemoryLimit, l.HeapLive, l.HeapMarked, l.LastHeapGoal, l.HeapInUse, l.HeapFree, l.MappedReady},
		{0, l.NumGC, l.GCCPUFraction},
		{l.GCAssist, l.GCDedicated, l.GCIdle, l.GCPause, l.GCTotal, l.ScavengeAssist, l.ScavengeBg, l.ScavengeTotal, l.Idle,
			l.User, l.Total},
		{s.TimeToRun, s.StopsGC, s.FreeGs, s.FreeGsNoStack},
	} {
		for i, one := range fields {
			if one >= 0 && slices.Contains(fields[:i], one) {
				return false
			}
		}
	}
	return true
}

// store writes an image, if it can. A reader sees all of it or nothing.
func (d *disk) store(k key, im *image) {
	path := d.file(k)
	if path == "" {
		return
	}
	text, err := json.Marshal(stored{diskFormat, k.buildID, k.size, k.uid, *im})
	if err != nil || !wellFormed(im) || len(text) > maxDiskFile || !d.room() {
		return
	}
	f, err := os.CreateTemp(d.dir, "new-*") // mode 0600
	if err != nil {
		return
	}
	_, err = f.Write(append(text, '\n'))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

// room creates the directory, and empties it if it has too many files.
func (d *disk) room() bool {
	if list, err := os.ReadDir(d.dir); err == nil {
		if len(list) >= maxDiskFiles {
			for _, e := range list {
				os.Remove(filepath.Join(d.dir, e.Name()))
			}
		}
		return mine(d.dir)
	}
	if os.MkdirAll(d.dir, 0o700) != nil {
		return false
	}
	parent, name := filepath.Split(d.dir)
	others, _ := os.ReadDir(parent)
	for _, e := range others {
		if e.IsDir() && strings.HasPrefix(e.Name(), folderPrefix) && e.Name() != name {
			os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
	return true
}
