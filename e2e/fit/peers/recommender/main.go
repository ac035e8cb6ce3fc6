// SPDX-License-Identifier: Apache-2.0

// Recommender says what other sizers advise for the samples of use in the records of experiments/2026-11-27-size: the
// recommender of Kubernetes' VPA, by its own code, and the rule of KRR. It reads records from stdin, one JSON document a
// line, and writes a line for each that has samples.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/config"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
)

// days is how long the samples are repeated for the second answer of VPA: the history that it keeps by default, 8
// intervals of a day.
const days = 8

// sample is [seconds since the first, bytes in use, working set in bytes, CPU seconds since the start].
type sample [4]float64

// resources of a container; nil = no advice.
type resources struct {
	CPU    *float64 `json:"cpu_cores"`
	Memory *float64 `json:"memory_bytes"`
}

// bounds are VPA's. It resizes a container whose requests are not between lower and upper to target.
type bounds struct {
	Target resources `json:"target"`
	Lower  resources `json:"lower"`
	Upper  resources `json:"upper"`
	Bare   resources `json:"target_without_minimum"` // without the least that it recommends for any pod
}

// advice for one record.
type advice struct {
	Program json.RawMessage `json:"program"`
	Cell    json.RawMessage `json:"cell"`
	Seconds float64         `json:"seconds"` // from the first sample to the last
	Samples int             `json:"samples"`
	Version string          `json:"vpa_version"`
	VPA     bounds          `json:"vpa"`
	Days    bounds          `json:"vpa_8_days"` // if the same samples had gone on for 8 days
	KRR     resources       `json:"krr"`
}

func main() {
	log.SetFlags(0)
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal("recommender: error: ", err)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			if err := answer(text, out); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// answer writes the advice for one record, which takes two samples.
func answer(text []byte, out io.Writer) error {
	var record struct {
		advice
		Samples []sample `json:"samples"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return err
	}
	s := record.Samples
	if len(s) < 2 {
		return nil
	}
	for i := range s[1:] {
		if s[i+1][0] <= s[i][0] {
			return fmt.Errorf("samples[%d]: no later than the one before", i+1)
		}
	}
	a := record.advice
	a.Seconds, a.Samples, a.Version = s[len(s)-1][0]-s[0][0], len(s), version()
	a.VPA = vpa(s, 0)
	a.Days = vpa(s, days*24*time.Hour)
	a.KRR = krr(s)
	return json.NewEncoder(out).Encode(&a)
}

// cores returns the CPU used between each two samples.
func cores(s []sample) (used []float64) {
	for i := 1; i < len(s); i++ {
		used = append(used, (s[i][3]-s[i-1][3])/(s[i][0]-s[i-1][0]))
	}
	return used
}

// vpa gives the samples to VPA's model, again and again until span is over, and asks its recommender with the default
// flags. As the recommender's loop does, CPU is a mean since the last sample, and memory the working set.
func vpa(s []sample, span time.Duration) (b bounds) {
	c := config.DefaultRecommenderConfig()
	state := model.NewAggregateContainerState() // by the default aggregation flags
	container := model.NewContainerState(nil, state)
	used := cores(s)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := time.Duration(0); at == 0 || at < span; {
		first := at
		for i, used := range used {
			at = first + time.Duration((s[i+1][0]-s[0][0])*float64(time.Second))
			container.AddSample(&model.ContainerUsageSample{MeasureStart: start.Add(at), Usage: model.CPUAmountFromCores(used), Resource: model.ResourceCPU})
			container.AddSample(&model.ContainerUsageSample{MeasureStart: start.Add(at), Usage: model.MemoryAmountFromBytes(s[i+1][2]), Resource: model.ResourceMemory})
		}
	}
	r := logic.RecommendationConfig{
		SafetyMarginFraction:       c.SafetyMarginFraction,
		PodMinCPUMillicores:        c.PodMinCPUMillicores,
		PodMinMemoryMb:             c.PodMinMemoryMb,
		TargetCPUPercentile:        c.TargetCPUPercentile,
		LowerBoundCPUPercentile:    c.LowerBoundCPUPercentile,
		UpperBoundCPUPercentile:    c.UpperBoundCPUPercentile,
		ConfidenceIntervalCPU:      c.ConfidenceIntervalCPU,
		TargetMemoryPercentile:     c.TargetMemoryPercentile,
		LowerBoundMemoryPercentile: c.LowerBoundMemoryPercentile,
		UpperBoundMemoryPercentile: c.UpperBoundMemoryPercentile,
		ConfidenceIntervalMemory:   c.ConfidenceIntervalMemory,
	}
	one := model.ContainerNameToAggregateStateMap{"": state}
	got := logic.CreatePodResourceRecommender(r).GetRecommendedPodResources(one)[""]
	b.Target, b.Lower, b.Upper = amounts(got.Target), amounts(got.LowerBound), amounts(got.UpperBound)
	r.PodMinCPUMillicores, r.PodMinMemoryMb = 0, 0
	b.Bare = amounts(logic.CreatePodResourceRecommender(r).GetRecommendedPodResources(one)[""].Target)
	return b
}

func amounts(r model.Resources) resources {
	cpu, memory := model.CoresFromCPUAmount(r[model.ResourceCPU]), model.BytesFromMemoryAmount(r[model.ResourceMemory])
	return resources{&cpu, &memory}
}

// krr is the strategy "simple" of KRR 1.29.0 with its default settings (github.com/robusta-dev/krr,
// robusta_krr/strategies/simple.py, core/runner.py, core/models/config.py): the 95th percentile of CPU, rounded up to a
// millicore, at least 10; the largest working set and 15 %, rounded up to a MiB, at least 100. It asks Prometheus for
// both, whose quantile_over_time interpolates, at a step of 75 s, and gives no advice for fewer than 100 samples. Here a
// step is a second, and any number will do.
func krr(s []sample) resources {
	used := cores(s)
	slices.Sort(used)
	at := 0.95 * float64(len(used)-1)
	low := int(at)
	cpu := used[low] + (at-float64(low))*(used[min(low+1, len(used)-1)]-used[low])
	cpu = max(0.01, math.Ceil(cpu*1000)/1000)
	var memory float64
	for _, s := range s[1:] {
		memory = max(memory, s[2])
	}
	memory = max(100, math.Ceil(memory*1.15/(1<<20))) * (1 << 20)
	return resources{&cpu, &memory}
}

// version returns that of VPA's module.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "k8s.io/autoscaler/vertical-pod-autoscaler" {
				return m.Version
			}
		}
	}
	return "unknown"
}
