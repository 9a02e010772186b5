class Loadstone < Formula
  desc "Load tests that tell you why"
  homepage "HOMEPAGE"
  version "VERSION"
  license "Apache-2.0"

ARCHIVES

  def install
    bin.install "loadstone"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/loadstone.bash" => "loadstone"
    zsh_completion.install "completions/_loadstone"
    fish_completion.install "completions/loadstone.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/loadstone --version")
  end
end
