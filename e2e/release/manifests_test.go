// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// harness loads a formula with the parts of Homebrew's language that it uses, on the system that it
// is told, unpacks its archive and installs it below a prefix.
const harness = `
require "digest"; require "fileutils"; require "open-uri"
FORMULA, SYSTEM, ARCH, BASE, PREFIX, STAGED = ARGV
module OS
  def self.linux?; SYSTEM == "linux"; end
end
class Folder
  def initialize(dir); @dir = dir; end
  def install(name); FileUtils.mkdir_p(@dir); FileUtils.cp(name, @dir); end
  def /(name); "#{@dir}/#{name}"; end
  def to_s; @dir; end
end
class Formula
  class << self
    attr_reader :fields, :check
    %w[desc homepage license version url sha256].each { |f| define_method(f) { |v| (@fields ||= {})[f] = v } }
    def test(&block); @check = block; end
  end
  def self.on_macos; yield if SYSTEM == "darwin"; end
  def self.on_linux; yield if SYSTEM == "linux"; end
  def self.on_arm; yield if ARCH == "arm64"; end
  def self.on_intel; yield if ARCH == "amd64"; end
  def bin; Folder.new("#{PREFIX}/bin"); end
  def version; self.class.fields["version"]; end
  def generate_completions_from_executable(*command); system(*command, "bash", out: File::NULL) || raise("no completion"); end
  def shell_output(line); IO.popen(line, &:read); end
  def assert_match(want, got); got.include?(want) || raise("#{got.inspect} lacks #{want.inspect}"); end
end
load FORMULA
f = Snug.fields
text = URI.open(f.fetch("url").sub("https://github.com/snug-go/snug/releases", BASE)).read
raise "checksum" if Digest::SHA256.hexdigest(text) != f.fetch("sha256")
raise "description" if f["desc"].length > 80 || f["desc"].end_with?(".")
exit if SYSTEM != "linux" || ARCH != "amd64"
File.binwrite("#{STAGED}/a.tar.gz", text)
Dir.chdir(STAGED) { system("tar", "xzf", "a.tar.gz") || raise; Snug.new.install }
Snug.new.instance_exec(&Snug.check)
`

// TestFormula: the formula takes the right archive on each system, and installs it on this one.
func TestFormula(t *testing.T) {
	b, base := released(t), serve(t, nil)
	script := put(t, filepath.Join(t.TempDir(), "harness.rb"), harness)
	prefix := t.TempDir()
	for _, s := range systems {
		if s.os != "windows" {
			out(t, "ruby", "-w", script, filepath.Join(b.dir, "snug.rb"), s.os, s.arch, base, prefix, t.TempDir())
		}
	}
	for _, program := range []string{program, small} {
		says(t, filepath.Join(prefix, "bin", program))
	}
}

// TestKrew: krew's own check installs the plug-in for every system. It downloads from a server here.
func TestKrew(t *testing.T) {
	b, base := released(t), serve(t, nil)
	text := string(read(t, filepath.Join(b.dir, "krew.yaml")))
	local := strings.ReplaceAll(text, "https://github.com/snug-go/snug/releases", base)
	if strings.Count(local, base) != len(systems) {
		t.Errorf("the manifest has other addresses:\n%s", text)
	}
	// In the index, the file has the name of the plug-in.
	manifest := put(t, filepath.Join(t.TempDir(), "snug.yaml"), local)
	path := "PATH=" + filepath.Dir(kubebuild.Command(t, "kubectl")) + ":" + filepath.Dir(kubebuild.Command(t, "kubectl-krew")) + ":" + os.Getenv("PATH")
	if r := try(t, "", []string{path}, kubebuild.Command(t, "validate-krew-manifest"), "-manifest", manifest); r.code != 0 {
		t.Errorf("%+v", r)
	}
}
