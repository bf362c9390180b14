//! The run input of one version comes in, the same for another version goes out. (skeleton)
