// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	untrusted "github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// Saved reports whether a target is a file with a document of snug.
func Saved(ctx context.Context, name string) bool {
	if s, err := Resolve(name); err != nil || len(s) != 1 || s[0].PID != 0 || name == "-" || Address(name) {
		return false
	}
	src, err := untrusted.Open(ctx, name, untrusted.Limits{})
	if err != nil {
		return false
	}
	defer src.Close()
	head, _ := src.Head()
	return untrusted.Sniff(head) == untrusted.Document
}

// readSaved reads a file with a document of snug, "-" for standard input.
func readSaved(ctx context.Context, name, hint string) (finding.Document, error) {
	var data []byte
	src, err := open(ctx, name, headerTimeout, untrusted.Limits{})
	if err == nil {
		data, err = src.All()
		src.Close()
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, context.Canceled):
		return nil, InputFailure(err)
	case err != nil:
		return nil, message.Failed(err.Error(), hint)
	}
	d, err := finding.Decode(data)
	if err != nil {
		return nil, message.Failed(name+": "+err.Error(), hint)
	}
	return d, nil
}

// readKind reads a document of one kind, whose type is T.
func readKind[T finding.Document](ctx context.Context, name, kind, hint string) (T, error) {
	var none T
	d, err := readSaved(ctx, name, hint)
	if err != nil {
		return none, err
	}
	of, ok := d.(T)
	if !ok {
		return none, message.Failed(name+": a document of kind "+finding.KindOf(d)+", not "+kind, hint)
	}
	return of, nil
}

// ReadSize reads a file that snug size --json wrote.
func ReadSize(ctx context.Context, name string) (*finding.Size, error) {
	const hint = "name a file that snug size --json wrote of one program; snug report FILE shows one of a cluster"
	s, err := readKind[*finding.Size](ctx, name, finding.KindSize, hint)
	if err != nil {
		return nil, err
	}
	for _, v := range [...]*finding.SizeValue{&s.Memory, &s.GOMEMLIMIT, &s.CPURequest, &s.CPULimit, &s.GOMAXPROCS} {
		if v.Why.Code == "" { // it would read as "leave it alone"
			return nil, message.Failed(name+": damaged document of kind size: a value is missing", hint)
		}
	}
	if err := size.Possible(s); err != nil {
		return nil, message.Failed(name+": "+err.Error(), hint)
	}
	return s, nil
}

// ReadSaved reads a file that snug doctor --json wrote.
func ReadSaved(ctx context.Context, name string) (*finding.Doctor, error) {
	const hint = "name two files that snug doctor --json wrote"
	doctor, err := readKind[*finding.Doctor](ctx, name, finding.KindDoctor, hint)
	if err != nil {
		return nil, err
	}
	// A document that lacks its targets would read as one in which nothing was found.
	if len(doctor.Targets) == 0 || slices.ContainsFunc(doctor.Targets,
		func(t finding.Examined) bool { return t.Kind == "" }) {
		return nil, message.Failed(name+": damaged document of kind doctor: a target is missing", hint)
	}
	return doctor, nil
}
