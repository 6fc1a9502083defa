"""What tools there are: manifests, layers, versions and trust, as one immutable snapshot."""
