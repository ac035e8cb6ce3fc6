// SPDX-License-Identifier: Apache-2.0

package search

import "math"

// observation is one run's figure, on the logarithmic scale.
type observation struct {
	cell  int
	block int // the round of the stage; runs of one block share its disturbance
	y     float64
}

// surface is the estimate of a figure for every candidate, measured or not.
type surface struct {
	mean    []float64   // by candidate
	sd      []float64   // of the mean's error
	apart   []float64   // standard deviation of the error of the difference from candidate 0
	effects [][]float64 // by knob and level, about the mean of the observations
	noise   float64     // standard deviation between runs of one setting
}

// variances are those of a model, relative to the variance between runs.
type variances struct {
	effect float64 // of the levels of a knob
	cell   float64 // of a setting's own part, besides the effects of its levels
	block  float64 // of the rounds
}

// fit estimates a figure of all candidates from runs of some.
//
// The model is additive: a run's figure is the sum of the effects of its levels, an
// effect of this setting alone, one of its round, and noise. All are independent and
// normal, with variances of their own. The estimate is the best linear unbiased
// prediction (C. R. Henderson, "Best Linear Unbiased Estimation and Prediction under a
// Selection Model", Biometrics 31 (1975); G. K. Robinson, "That BLUP Is a Good Thing",
// Statistical Science 6 (1991)). If effects are large compared with the noise, that is
// least squares over the levels, for any pattern of missing settings. The measured value
// of a setting is shrunk towards the prediction from its levels, by as much as the noise
// of its runs justifies. The variances are the most likely ones of a grid.
//
// Without an observation every mean is NaN.
func fit(candidates []Candidate, factors [knobs]int, obs []observation) surface {
	s := surface{mean: make([]float64, len(candidates)), sd: make([]float64, len(candidates)), apart: make([]float64, len(candidates))}
	for k := range factors {
		s.effects = append(s.effects, make([]float64, factors[k]))
	}
	n := len(obs)
	if n == 0 {
		for i := range s.mean {
			s.mean[i], s.sd[i], s.apart[i] = math.NaN(), math.Inf(1), math.Inf(1)
		}
		s.noise = math.NaN()
		return s
	}
	center := 0.0
	for _, o := range obs {
		center += o.y / float64(n)
	}
	m := model{candidates: candidates, factors: factors, obs: obs, y: make([]float64, n)}
	for i, o := range obs {
		m.y[i] = o.y - center
	}
	v, l := m.best()
	s.noise = math.Sqrt(l.scale)
	var first []float64 // of candidate 0, as shared below
	for c := range candidates {
		shared := make([]float64, n)
		s.mean[c] = center
		for i, o := range obs {
			shared[i] = v.between(&candidates[c], &candidates[o.cell], c == o.cell, m.varied)
			s.mean[c] += shared[i] * l.weight[i]
		}
		own := v.between(&candidates[c], &candidates[c], true, m.varied)
		with := v.between(&candidates[c], &candidates[0], c == 0, m.varied)
		solveLower(l.chol, shared)
		if c == 0 {
			first = shared
		}
		for i, x := range shared {
			own -= x * x
			with -= x * first[i]
		}
		s.sd[c] = math.Sqrt(l.scale * max(0, own))
		s.apart[c] = math.Sqrt(max(0, s.sd[c]*s.sd[c]+s.sd[0]*s.sd[0]-2*l.scale*with))
	}
	for k := range knobs {
		for i, o := range obs {
			s.effects[k][candidates[o.cell].levels[k]] += v.effect * l.weight[i]
		}
	}
	return s
}

// model is the data of a fit.
type model struct {
	candidates []Candidate
	factors    [knobs]int
	obs        []observation
	y          []float64
	varied     [knobs]bool
}

// between returns the covariance of the figures of two candidates, without round and
// noise. The common mean has the variance of an effect.
func (v variances) between(a, b *Candidate, same bool, varied [knobs]bool) float64 {
	c := v.effect
	for k := range knobs {
		if varied[k] && a.levels[k] == b.levels[k] {
			c += v.effect
		}
	}
	if same {
		c += v.cell
	}
	return c
}

// The grid. Effects of 20 times the noise are practically least squares. No round was
// seen to disturb more than twice as much as the noise of a run.
var (
	effectGrid = []float64{0.3, 3, 30, 400}
	cellGrid   = []float64{0.01, 0.1, 0.5, 2, 8, 30}
	blockGrid  = []float64{0, 0.5, 4}
)

// best finds the variances of the largest likelihood, one after the other, in two passes,
// and returns them with their likelihood.
func (m *model) best() (variances, likelihood) {
	for k := range knobs {
		m.varied[k] = m.factors[k] > 1
	}
	v := variances{effectGrid[2], cellGrid[2], blockGrid[1]}
	top := m.likelihood(v)
	for range 2 {
		for _, d := range []struct {
			grid []float64
			at   *float64
		}{{effectGrid, &v.effect}, {cellGrid, &v.cell}, {blockGrid, &v.block}} {
			was := *d.at
			for _, x := range d.grid {
				if x == was {
					continue
				}
				before := *d.at
				*d.at = x
				if l := m.likelihood(v); l.log > top.log {
					top = l
				} else {
					*d.at = before
				}
			}
		}
	}
	return v, top
}

// likelihood is the likelihood of the data under some variances.
type likelihood struct {
	log    float64     // up to a constant
	chol   [][]float64 // Cholesky factor of the observations' covariance, in units of scale
	weight []float64   // inverse of that covariance times the data
	scale  float64     // variance between runs of one setting
}

func (m *model) likelihood(v variances) likelihood {
	chol, logDet := m.factor(v)
	z := append([]float64(nil), m.y...)
	solveLower(chol, z)
	square := 0.0
	for _, x := range z {
		square += x * x
	}
	n := float64(len(z))
	// Data without noise get the variance of a noise of one part in ten
	// thousand; no run's figure is that exact.
	s := max(square/n, 1e-8)
	solveUpper(chol, z)
	return likelihood{-n*math.Log(s)/2 - logDet - square/s/2, chol, z, s}
}

// factor returns the Cholesky factor of the observations' covariance and the sum of the
// logarithms of its diagonal.
func (m *model) factor(v variances) (l [][]float64, logDet float64) {
	l = make([][]float64, len(m.obs))
	for i := range l {
		l[i] = make([]float64, i+1)
		a := m.obs[i]
		for j := range l[i] {
			b := m.obs[j]
			x := v.between(&m.candidates[a.cell], &m.candidates[b.cell], a.cell == b.cell, m.varied)
			if a.block == b.block {
				x += v.block
			}
			if i == j {
				x++
			}
			row, other := l[i][:j], l[j][:j]
			for k, y := range row {
				x -= y * other[k]
			}
			if i == j {
				l[i][i] = math.Sqrt(x)
			} else {
				l[i][j] = x / l[j][j]
			}
		}
		logDet += math.Log(l[i][i])
	}
	return l, logDet
}

// solveLower replaces x by the inverse of l times x.
func solveLower(l [][]float64, x []float64) {
	for i := range x {
		for k := range i {
			x[i] -= l[i][k] * x[k]
		}
		x[i] /= l[i][i]
	}
}

// solveUpper replaces x by the inverse of the transpose of l times x.
func solveUpper(l [][]float64, x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		for k := i + 1; k < len(x); k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
}
