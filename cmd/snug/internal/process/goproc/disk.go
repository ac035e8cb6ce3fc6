// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// disk keeps images in files of a few hundred bytes:
//
//	snug/programs-ID/KEY.json      ID of the snug that wrote it, KEY of the program
//
// A snug that was built anew may look in another way, so it starts with an empty
// folder and removes those of others. Whatever is wrong with a file, it counts
// for nothing.
type disk struct{ dir string }

// key is what an image is found by.
type key struct {
	// buildID ends in a hash of the program's content. Stripping keeps it but
	// changes the size.
	buildID string
	size    int64
	// uid is of the processes; see program.
	uid int
}

const (
	// diskFormat changes with the meaning of what is stored.
	diskFormat  = 1
	maxDiskFile = 16 << 10
	// maxDiskFiles is far more than a machine has Go programs.
	maxDiskFiles = 2000
	folderPrefix = "programs-"
)

// stored is a file's content. The key is repeated in it.
type stored struct {
	Format  int    `json:"format"`
	BuildID string `json:"build_id"`
	Size    int64  `json:"size"`
	UID     int    `json:"uid"`
	image
}

// self is the build ID of this program, "" when it has none.
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

// openDisk is nil when there is no place to keep anything.
func openDisk(dir string) *disk {
	if dir == "" || self() == "" || !mine(dir) {
		return nil
	}
	return &disk{filepath.Join(dir, "snug", folderPrefix+hash(self())[:16])}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// file is "" for a program that must not be kept: one with no build ID, or with
// one that somebody chose, as some build systems do, and that others may share.
// Those that Go makes have four parts.
func (d *disk) file(k key) string {
	if d == nil || strings.Count(k.buildID, "/") != 3 || len(k.buildID) < 40 || len(k.buildID) > 512 {
		return ""
	}
	return filepath.Join(d.dir, hash(fmt.Sprintf("%d %d %s", k.size, k.uid, k.buildID))[:32]+".json")
}

// load is nil when nothing usable is kept.
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
	if json.Unmarshal(text, &s) != nil || s.Format != diskFormat || s.BuildID != k.buildID || s.Size != k.size || s.UID != k.uid {
		return nil
	}
	if !wellFormed(&s.image) {
		return nil
	}
	return &s.image
}

// wellFormed: no two fields of a struct have the same place.
func wellFormed(im *image) bool {
	l := &im.Layout
	for _, fields := range [][]int64{
		{l.GCPercent, l.MemoryLimit, l.HeapLive, l.HeapMarked, l.LastHeapGoal, l.HeapInUse, l.HeapFree, l.MappedReady},
		{0, l.NumGC, l.GCCPUFraction},
		{l.GCAssist, l.GCDedicated, l.GCIdle, l.GCPause, l.GCTotal, l.ScavengeAssist, l.ScavengeBg, l.ScavengeTotal, l.Idle, l.User, l.Total},
	} {
		for i, one := range fields {
			if one >= 0 && slices.Contains(fields[:i], one) {
				return false
			}
		}
	}
	return true
}

// store keeps an image, if it can. A reader sees all of it or nothing.
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

// room makes the folder, and makes it empty when it is too full.
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
