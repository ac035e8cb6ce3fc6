// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"time"
)

// content is a file of an archive, a package or an image.
type content struct {
	name string
	mode int64
	text []byte
}

// writeTar writes files of user 0, all with the same time. So the same files give the same archive.
func writeTar(w io.Writer, at time.Time, files []content) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := t.Write(f.text); err != nil {
			return err
		}
	}
	return t.Close()
}

// tarball returns a .tar.gz.
func tarball(at time.Time, files []content) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(z, at, files); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// zipball returns a .zip.
func zipball(at time.Time, files []content) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// archiveName is the file name of a system's archive.
func archiveName(version string, s system) string {
	name := program + "_" + number(version) + "_" + s.String()
	if s.os == "windows" {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// archive returns the archive of a system.
func archive(version string, at time.Time, s system, files []content) (content, error) {
	pack := tarball
	if s.os == "windows" {
		pack = zipball
	}
	text, err := pack(at, files)
	return content{archiveName(version, s), 0o644, text}, err
}
