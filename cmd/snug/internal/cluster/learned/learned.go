// SPDX-License-Identifier: Apache-2.0

// Package learned remembers what programs the containers of a cluster turned out to run,
// for who decides on the next pod of the same workload before it runs. Agents on the
// nodes have seen them; several who remember share one text.
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

// Fact is what was seen of one container of a workload.
type Fact struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"` // "Deployment/web"
	Container string `json:"container"`
	Image     string `json:"image,omitempty"`  // as the pod names it
	Digest    string `json:"digest,omitempty"` // "sha256:..." of what was run
	// Go is the program's version, "1.22"; "" = it is not one of Go.
	Go string `json:"go,omitempty"`
	// Blind says that it does not follow its CPU quota by itself.
	Blind bool `json:"blind,omitempty"`
	// First and Last are when it was seen, in seconds since 1970. Last is not newer than
	// it has to be; see refreshAfter.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

const (
	// keepFor is how long a fact holds that nobody sees any more.
	keepFor = 30 * 24 * time.Hour
	// refreshAfter is how old Last gets before it is renewed: a text that changes each
	// minute would be written each minute.
	refreshAfter = 12 * time.Hour
	// runsFor is how old Last gets at most while somebody goes on seeing it, and a bit.
	runsFor = refreshAfter + time.Hour
	// keepNewest images of a container of a workload are remembered, and others for as long
	// as they run: a workload that is rolled out each hour would fill the text alone.
	keepNewest = 3
	// mostText bounds the text, in bytes. An object of the API has a megabyte.
	mostText = 900 << 10
	// mostFacts bounds what is read and remembered; so many do not fit into mostText.
	mostFacts = 20000
)

// key tells facts apart.
type key struct{ namespace, workload, container, image string }

func (f *Fact) key() key {
	return key{f.Namespace, f.Workload, f.Container, cmp.Or(f.Digest, f.Image)}
}

// group are the facts of one container of a workload.
type group struct{ namespace, workload, container string }

// Facts are facts for looking up. They do not change.
type Facts struct {
	all     map[key]Fact
	byGroup map[group][]Fact // the image that was first seen last is the first
	surplus int              // left out, as there are mostFacts without them
}

// Len is how many there are.
func (f *Facts) Len() int { return len(f.all) }

// made indexes facts.
func made(all map[key]Fact) *Facts {
	f := &Facts{all: all, byGroup: make(map[group][]Fact, len(all))}
	for _, one := range all {
		g := group{one.Namespace, one.Workload, one.Container}
		f.byGroup[g] = append(f.byGroup[g], one)
	}
	for _, facts := range f.byGroup {
		slices.SortFunc(facts, newest)
	}
	return f
}

// newest sorts by what was first seen last; the rest makes it the same order always.
func newest(a, b Fact) int {
	return cmp.Or(cmp.Compare(b.First, a.First), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Workload, b.Workload),
		cmp.Compare(a.Container, b.Container), cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Image, b.Image))
}

// Program is what is known of the program in a container that is to run: what its image
// was seen to be, by its digest where the pod names it, or else by its name; or else what
// the newest image of the same container of the workload is, because a new version of a
// program is mostly built by the same Go. nil Facts know nothing.
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

// minorOf reads 1.22.
func minorOf(text string) (int, bool) {
	rest, ok := strings.CutPrefix(text, "1.")
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n >= 0 && n < 1000
}

// With are facts and what was seen of them now, as Read gives it. What nobody has seen for
// long is left out, and so are old images of a container that had many since; and those of
// more than mostFacts that were not seen for longest.
func (f *Facts) With(seen []Fact, now time.Time) *Facts {
	all := map[key]Fact{}
	if f != nil {
		all = lasting(f.all, now)
	}
	fresh := newSightings()
	fresh.add(seen)
	for k, one := range fresh.all {
		one.First, one.Last = now.Unix(), now.Unix()
		if old, known := all[k]; known {
			// A script may run the program now and then only, and a digest is of one image; a
			// name may be of another by now.
			if old.Go != "" && one.Go == "" && one.Digest != "" {
				continue
			}
			one.First = old.First
			if old.says() == one.says() && now.Sub(time.Unix(old.Last, 0)) < refreshAfter {
				continue
			}
		}
		all[k] = one
	}
	with := made(all)
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
	if n := len(all) - mostFacts; n > 0 {
		for _, one := range latest(all)[mostFacts:] {
			delete(all, one.key())
		}
		with = made(all)
		surplus += n
	}
	with.surplus = surplus
	return with
}

// lasting are those facts that hold at a time.
func lasting(facts map[key]Fact, now time.Time) map[key]Fact {
	all := make(map[key]Fact, len(facts))
	for k, one := range facts {
		// Clocks differ; nobody sees the future.
		one.First, one.Last = min(one.First, now.Unix()), min(one.Last, now.Unix())
		if now.Sub(time.Unix(one.Last, 0)) <= keepFor {
			all[k] = one
		}
	}
	return all
}

// latest are facts in the order of when they were seen last, the latest first.
func latest(all map[key]Fact) []Fact {
	return slices.SortedFunc(maps.Values(all), func(a, b Fact) int { return cmp.Or(cmp.Compare(b.Last, a.Last), newest(a, b)) })
}

// says is what a fact says, when it was seen left out.
func (f *Fact) says() string {
	blind := ""
	if f.Blind {
		blind = "blind"
	}
	return f.Go + " " + blind + " " + f.Image
}

// sightings are one of each of what many have seen, whoever answered first.
type sightings struct {
	all     map[key]Fact     // mostFacts at most
	surplus map[key]struct{} // those left out, mostFacts at most
}

func newSightings() *sightings {
	return &sightings{map[key]Fact{}, map[key]struct{}{}}
}

// add adds what was seen: a program of Go rather than none yet.
func (s *sightings) add(seen []Fact) {
	for _, one := range seen {
		k := one.key()
		old, ok := s.all[k]
		switch {
		case ok && old.says() >= one.says():
		case ok || len(s.all) < mostFacts:
			s.all[k] = one
		case len(s.surplus) < mostFacts:
			s.surplus[k] = struct{}{}
		}
	}
}

// Merged are the facts of both.
func Merged(a, b *Facts, now time.Time) *Facts {
	all := map[key]Fact{}
	if a != nil {
		all = lasting(a.all, now)
	}
	if b != nil {
		for k, one := range lasting(b.all, now) {
			if old, ok := all[k]; ok {
				first := min(one.First, old.First)
				if old.over(&one) {
					one = old
				}
				one.First = first
			}
			all[k] = one
		}
	}
	return made(all)
}

// over tells which of two facts of the same image holds; whichever comes first, the answer
// is the same. A digest is of one image: a program of Go that was seen in it goes on being
// there where others see none yet, as With has it.
func (f *Fact) over(other *Fact) bool {
	if f.Digest != "" && (f.Go == "") != (other.Go == "") {
		return f.Go != ""
	}
	return cmp.Or(cmp.Compare(f.Last, other.Last), cmp.Compare(f.says(), other.says())) > 0
}

// Encode writes facts; the same facts give the same bytes. Where they are too many, those
// that were not seen for longest are left out, dropped of them.
func (f *Facts) Encode() (text []byte, dropped int) {
	facts := latest(f.all)
	var lines [][]byte
	size := len("[]\n")
	for i := range facts {
		line, err := json.Marshal(&facts[i])
		if err != nil || size+len(line)+2 > mostText {
			break
		}
		lines = append(lines, line)
		size += len(line) + 2
	}
	slices.SortFunc(lines, bytes.Compare)
	return append(append([]byte("["), bytes.Join(lines, []byte(",\n"))...), "]\n"...), len(facts) - len(lines)
}

// ErrUnreadable says that a text holds no facts.
var ErrUnreadable = errors.New("no facts that can be read")

// Decode reads what Encode wrote. Facts that make no sense are left out.
func Decode(text []byte) (*Facts, error) {
	var facts []Fact
	if len(bytes.TrimSpace(text)) == 0 {
		return made(nil), nil
	}
	if len(text) > 2*mostText || json.Unmarshal(text, &facts) != nil {
		return made(nil), ErrUnreadable
	}
	all := map[key]Fact{}
	for _, one := range facts[:min(len(facts), mostFacts)] {
		if one.valid() {
			all[one.key()] = one
		}
	}
	return made(all), nil
}

// What texts are made of; how long they may be stands beside where it is asked: a bound
// within an expression takes a millisecond to compile before every command of the tool.
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
	return text == "" || hexText.MatchString(sum) && (algorithm == "sha256" && len(sum) == 64 || algorithm == "sha512" && len(sum) == 128)
}

// valid tells whether a fact is one: others have written it.
func (f *Fact) valid() bool {
	version := f.Go == ""
	if !version {
		_, version = minorOf(f.Go)
	}
	return version && podpatch.IsName(f.Namespace) && podpatch.IsName(f.Container) && isWorkload(f.Workload) &&
		len(f.Image) <= 512 && imageName.MatchString(f.Image) && isDigest(f.Digest) && f.Image+f.Digest != "" && f.First >= 0 && f.Last >= f.First
}
