// SPDX-License-Identifier: Apache-2.0

package finding

// KindOf returns the kind of a document, as in its JSON.
func KindOf(d Document) string {
	switch d.(type) {
	case *Limits:
		return KindLimits
	case *Plan:
		return KindPlan
	case *Verdict:
		return KindVerdict
	case *Explanation:
		return KindExplain
	case *Index:
		return KindIndex
	case *Build:
		return KindVersion
	case *Bench:
		return KindBench
	case *Tune:
		return KindTune
	case *PS:
		return KindPS
	case *Doctor:
		return KindDoctor
	case *Profile:
		return KindProfile
	case *Vet:
		return KindVet
	case *Trace:
		return KindTrace
	case *Watch:
		return KindTop
	case *Node:
		return KindAgent
	case *Lint:
		return KindLint
	case *Policy:
		return KindPolicy
	case *Given:
		return KindGiven
	}
	return "unknown"
}
