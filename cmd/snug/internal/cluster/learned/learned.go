// SPDX-License-Identifier: Apache-2.0

// Package learned keeps which programs the containers of a cluster run, so that the webhook
// can decide on the next pod of the same workload before it runs. The facts come from the
// agents on the nodes; replicas share them as one text.
package learned

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/internal/plan"
)

// Fact is what agents have seen of one container of a workload.
type Fact struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"` // "Deployment/web"
	Container string `json:"container"`
	Image     string `json:"image,omitempty"`  // as in the pod
	Digest    string `json:"digest,omitempty"` // "sha256:..." of the image that ran
	// Go is the Go version of the program, "1.22"; "" = not a Go program.
	Go string `json:"go,omitempty"`
	// Blind means that the program does not follow its CPU quota by itself.
	Blind bool `json:"blind,omitempty"`
	// First and Last are when it was seen first and last, in seconds since 1970. Last may lag
	// by refreshAfter.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

const (
	// keepFor is how long a fact holds after it was last seen.
	keepFor = 30 * 24 * time.Hour
	// refreshAfter is the age at which Last is renewed. If it were renewed every minute, the
	// text would be written every minute.
	refreshAfter = 12 * time.Hour
	// runsFor is the age of Last from which an image counts as no longer running.
	runsFor = refreshAfter + time.Hour
	// keepNewest is how many images of a container are kept besides those that run. Otherwise
	// a workload with a rollout every hour would fill the text.
	keepNewest = 3
	// maxText bounds the text, in bytes. An API object may have a megabyte.
	maxText = 900 << 10
	// maxFacts bounds the facts that are read and kept. It is more than fits in maxText.
	maxFacts = 20000
)

// key identifies a fact.
type key struct{ namespace, workload, container, image string }

func (f *Fact) key() key {
	return key{f.Namespace, f.Workload, f.Container, cmp.Or(f.Digest, f.Image)}
}

// group identifies a container of a workload.
type group struct{ namespace, workload, container string }

// Facts is an immutable, indexed set of facts.
type Facts struct {
	all     map[key]Fact
	byGroup map[group][]Fact // sorted by newest
	surplus int              // how many were left out beyond maxFacts
}

// Len returns the number of facts.
func (f *Facts) Len() int { return len(f.all) }

// indexed returns indexed facts.
func indexed(all map[key]Fact) *Facts {
	f := &Facts{all: all, byGroup: make(map[group][]Fact, len(all))}
	for _, one := range all {
		g := group{one.Namespace, one.Workload, one.Container}
		f.byGroup[g] = append(f.byGroup[g], one)
	}
	for _, facts := range f.byGroup {
		slices.SortStableFunc(facts, newest)
	}
	return f
}

// newest compares by First, latest first; the other fields make the order total.
func newest(a, b Fact) int {
	return cmp.Or(cmp.Compare(b.First, a.First), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Container, b.Container),
		cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Image, b.Image))
}

// Program returns what is known of the program in a new container. It goes by the digest of
// its image, if the pod names it, or else by its name. For an unknown image it returns the
// program of the newest image of the same container, because a new version is usually built
// with the same Go. Of nil Facts it returns unknown.
func (f *Facts) Program(namespace, workload, container, image string) podpatch.Program {
	if f == nil {
		return podpatch.Program{}
	}
	facts := f.byGroup[group{namespace, workload, container}]
	if len(facts) == 0 {
		return podpatch.Program{}
	}
	at := -1
	if _, digest, ok := strings.Cut(image, "@"); ok {
		at = slices.IndexFunc(facts, func(f Fact) bool { return f.Digest == digest })
	}
	if at < 0 {
		at = slices.IndexFunc(facts, func(f Fact) bool { return f.Image == image })
	}
	return facts[max(at, 0)].program()
}

func (f *Fact) program() podpatch.Program {
	if f.Go == "" {
		return podpatch.Program{State: podpatch.NotGo}
	}
	minor, _ := minorOf(f.Go)
	return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: f.Blind}}
}

// minorOf parses "1.22".
func minorOf(text string) (int, bool) {
	rest, ok := strings.CutPrefix(text, "1.")
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n >= 0 && n < 1000
}

// With returns the facts updated by those seen now. It leaves out facts older than keepFor,
// old images beyond keepNewest that no longer run, and beyond maxFacts those last seen longest
// ago.
func (f *Facts) With(seen []Fact, now time.Time) *Facts {
	all := map[key]Fact{}
	if f != nil {
		all = unexpired(f.all, now)
	}
	fresh := newSightings()
	fresh.add(seen)
	for k, one := range fresh.all {
		one.First, one.Last = now.Unix(), now.Unix()
		if old, known := all[k]; known {
			// A digest is of one image, in which a script may run the Go program only now and
			// then. A name may be of another image by now.
			if old.Go != "" && one.Go == "" && one.Digest != "" {
				continue
			}
			one.First = old.First
			if old.content() == one.content() && now.Sub(time.Unix(old.Last, 0)) < refreshAfter {
				continue
			}
		}
		all[k] = one
	}
	with := indexed(all)
	for g, facts := range with.byGroup {
		newer := min(len(facts), keepNewest)
		others := slices.DeleteFunc(facts[newer:], func(one Fact) bool {
			gone := now.Sub(time.Unix(one.Last, 0)) > runsFor
			if gone {
				delete(all, one.key())
			}
			return gone
		})
		with.byGroup[g] = facts[:newer+len(others)]
	}
	surplus := len(fresh.surplus)
	if n := len(all) - maxFacts; n > 0 {
		for _, one := range latest(all)[maxFacts:] {
			delete(all, one.key())
		}
		with = indexed(all)
		surplus += n
	}
	with.surplus = surplus
	return with
}

// unexpired returns the facts that hold at a time.
func unexpired(facts map[key]Fact, now time.Time) map[key]Fact {
	all := make(map[key]Fact, len(facts))
	for k, one := range facts {
		// Clocks differ: no time is in the future.
		one.First, one.Last = min(one.First, now.Unix()), min(one.Last, now.Unix())
		if now.Sub(time.Unix(one.Last, 0)) <= keepFor {
			all[k] = one
		}
	}
	return all
}

// latest returns facts sorted by Last, the latest first.
func latest(all map[key]Fact) []Fact {
	return slices.SortedFunc(maps.Values(all), func(a, b Fact) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), newest(a, b))
	})
}

// content returns a fact's content without its times, for comparison.
func (f *Fact) content() string { return f.Go + " " + strconv.FormatBool(f.Blind) + " " + f.Image }

// sightings are the distinct facts of many agents, independent of their order.
type sightings struct {
	all     map[key]Fact     // at most maxFacts
	surplus map[key]struct{} // left out, at most maxFacts
}

func newSightings() *sightings {
	return &sightings{map[key]Fact{}, map[key]struct{}{}}
}

// add adds facts. A Go program wins over none.
func (s *sightings) add(seen []Fact) {
	for _, one := range seen {
		k := one.key()
		old, ok := s.all[k]
		switch {
		case ok && old.content() >= one.content():
		case ok || len(s.all) < maxFacts:
			s.all[k] = one
		case len(s.surplus) < maxFacts:
			s.surplus[k] = struct{}{}
		}
	}
}

// Merged returns the facts of both.
func Merged(a, b *Facts, now time.Time) *Facts {
	all := map[key]Fact{}
	if a != nil {
		all = unexpired(a.all, now)
	}
	if b != nil {
		for k, one := range unexpired(b.all, now) {
			if old, ok := all[k]; ok {
				first := min(one.First, old.First)
				if old.supersedes(&one) {
					one = old
				}
				one.First = first
			}
			all[k] = one
		}
	}
	return indexed(all)
}

// supersedes reports whether f holds rather than other, a fact of the same image. The result
// does not depend on the order of merging. As in With, a Go program that was seen in the image
// of a digest stays, even if others have not seen it yet.
func (f *Fact) supersedes(other *Fact) bool {
	if f.Digest != "" && (f.Go == "") != (other.Go == "") {
		return f.Go != ""
	}
	return cmp.Or(cmp.Compare(f.Last, other.Last), cmp.Compare(f.content(), other.content())) > 0
}

// Encode encodes facts; the same facts give the same bytes. If they exceed maxText, it drops
// those last seen longest ago.
func (f *Facts) Encode() (text []byte, dropped int) {
	facts := latest(f.all)
	var lines [][]byte
	size := len("[]\n")
	for i := range facts {
		line, err := json.Marshal(&facts[i])
		if err != nil || size+len(line)+2 > maxText {
			break
		}
		lines = append(lines, line)
		size += len(line) + 2
	}
	slices.SortFunc(lines, bytes.Compare)
	return append(append([]byte("["), bytes.Join(lines, []byte(",\n"))...), "]\n"...), len(facts) - len(lines)
}

// ErrUnreadable means that a text cannot be decoded.
var ErrUnreadable = errors.New("the facts cannot be read")

// Decode decodes the output of Encode. It leaves out invalid facts.
func Decode(text []byte) (*Facts, error) {
	var facts []Fact
	if len(bytes.TrimSpace(text)) == 0 {
		return indexed(nil), nil
	}
	if len(text) > 2*maxText || json.Unmarshal(text, &facts) != nil {
		return indexed(nil), ErrUnreadable
	}
	all := map[key]Fact{}
	for _, one := range facts[:min(len(facts), maxFacts)] {
		if one.valid() {
			all[one.key()] = one
		}
	}
	return indexed(all), nil
}

// The patterns have no bounds; the functions below check lengths. A bound within a pattern
// takes a millisecond to compile, before every command of the tool.
var (
	workload  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*/[a-z0-9][-a-z0-9.]*$`)
	imageName = regexp.MustCompile(`^[!-~]*$`)
	hexText   = regexp.MustCompile(`^[0-9a-f]*$`)
)

func isWorkload(text string) bool {
	kind, name, _ := strings.Cut(text, "/")
	return len(kind) <= 63 && len(name) <= 253 && workload.MatchString(text)
}

func isDigest(text string) bool {
	algorithm, sum, _ := strings.Cut(text, ":")
	length := map[string]int{"sha256": 64, "sha512": 128}[algorithm]
	return text == "" || length > 0 && len(sum) == length && hexText.MatchString(sum)
}

// valid reports whether a fact is valid: it comes from outside.
func (f *Fact) valid() bool {
	version := f.Go == ""
	if !version {
		_, version = minorOf(f.Go)
	}
	image := len(f.Image) <= 512 && imageName.MatchString(f.Image) && isDigest(f.Digest) && f.Image+f.Digest != ""
	return version && image && podpatch.IsName(f.Namespace) && podpatch.IsName(f.Container) && isWorkload(f.Workload) &&
		f.First >= 0 && f.Last >= f.First
}
