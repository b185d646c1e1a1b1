# Writes OUTPUT: one C++ table with the name and the text of each of FILES.
file(WRITE ${OUTPUT} "#include \"presets/presets.h\"\n\nnamespace paddock {\n\nconst EmbeddedPreset kEmbeddedPresets[] = {\n")
foreach(path ${FILES})
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  file(APPEND ${OUTPUT} "    {\"${name}\", R\"PRESET(${text})PRESET\"},\n")
endforeach()
file(APPEND ${OUTPUT} "};\nconst size_t kEmbeddedPresetCount = sizeof kEmbeddedPresets / sizeof *kEmbeddedPresets;\n\n}  // namespace paddock\n")
