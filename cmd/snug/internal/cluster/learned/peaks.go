// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// Peaks are the memory that is not Go's, as measured, by podpatch.MeasuredKey. The nil Peaks is none.
type Peaks map[string]podpatch.Measured

// ReadPeaks reads the data of a ConfigMap. wrong are the keys of values that cannot be read, sorted;
// these are left out.
func ReadPeaks(data map[string]string) (peaks Peaks, wrong []string) {
	peaks = make(Peaks, len(data))
	for key, text := range data {
		if m, ok := podpatch.ParseMeasured(text); ok {
			peaks[key] = m
		} else {
			wrong = append(wrong, key)
		}
	}
	slices.Sort(wrong)
	return peaks, wrong
}

// Of returns what was measured of a container of a workload, as package podid names it.
func (p Peaks) Of(namespace, workload, container string) podpatch.Measured {
	key, _ := podpatch.MeasuredKey(namespace, workload, container)
	return p[key]
}

// Old returns the number of measurements that ended more than 30 days before now. They hold: the
// policies have no clock, and both decide alike.
func (p Peaks) Old(now time.Time) (n int) {
	for _, m := range p {
		if now.Sub(m.Until) > keepFor {
			n++
		}
	}
	return n
}

// PeakKeeper keeps peaks up to date.
type PeakKeeper struct {
	Load func(context.Context) (map[string]string, error) // the data of the ConfigMap; nil = there is none
	Name string                                           // of the ConfigMap, for notes
	Note func(string)                                     // receives notes for the log

	peaks       atomic.Pointer[Peaks]
	wrong, aged string
}

// Peaks returns the current peaks; false = they were not loaded yet. It is safe for concurrent use.
func (k *PeakKeeper) Peaks() (Peaks, bool) {
	if p := k.peaks.Load(); p != nil {
		return *p, true
	}
	return nil, false
}

// Run calls Keep every minute until ctx ends. It notes an error if it differs from the one before.
func (k *PeakKeeper) Run(ctx context.Context) { run(ctx, k.Note, nil, k.Keep) }

// Keep loads the ConfigMap. If it cannot, the peaks stay. It notes values that cannot be read, and
// measurements that are old, once until they change.
func (k *PeakKeeper) Keep(ctx context.Context, now time.Time) error {
	data, err := k.Load(ctx)
	if err != nil {
		return err
	}
	peaks, wrong := ReadPeaks(data)
	k.peaks.Store(&peaks)
	var unread, aged error
	if n := len(wrong); n > 0 {
		unread = fmt.Errorf("%d of %d values of the ConfigMap %s cannot be read and are ignored, the first of the key %q", n, len(data), k.Name, wrong[0])
	}
	if n := peaks.Old(now); n > 0 {
		aged = fmt.Errorf("%d of %d values of the ConfigMap %s were measured more than 30 days ago, and still decide", n, len(data), k.Name)
	}
	k.wrong, k.aged = noted(k.Note, unread, k.wrong), noted(k.Note, aged, k.aged)
	return nil
}
